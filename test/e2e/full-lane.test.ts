import { Client } from 'pg';
import { type Answer, eventually, expectProblem, send } from '../support/http';
import { OPERATOR_PASSWORD, type ServerProcess, startServer } from '../support/server-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestIdentity } from '../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
const authorization = {
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0001',
  amount_minor: 1_250,
  currency: 'USD',
};
const PERMITS = 4;
const QUEUE = 2;

interface LaneHealth {
  bulkheads: { in_use: number; queued: number; zombies: number; state: string }[];
}

describe('the authorization lane, filled from outside', () => {
  let server: ServerProcess;
  let database: TestDatabase;
  let bearer: string;

  const url = (path: string): string => `${server.url}${path}`;
  const authorize = (more: object = {}): Promise<Answer> =>
    send(url('/v1/authorizations'), { bearer, body: authorization, ...more });
  const setFaults = async (faults: object): Promise<void> => {
    const answer = await send(url('/faults/authorization'), {
      method: 'PUT',
      body: faults,
      headers: { Authorization: basic },
    });
    expect(answer.status).toBe(200);
  };
  const bulkhead = async (): Promise<LaneHealth['bulkheads'][number]> => {
    const { body } = await send(url('/health'));
    const lanes = body['lanes'] as Record<string, LaneHealth>;
    const first = lanes['authorization']?.bulkheads[0];
    if (first === undefined) throw new Error(`No bulkhead in ${JSON.stringify(body)}`);
    return first;
  };
  const rejections = async (reason: string): Promise<number> => {
    const { text } = await send(url('/metrics'));
    const line = new RegExp(
      `^bulkhead_rejection_total\\{bulkhead="bulkhead_card_auth",reason="${reason}"\\} (\\d+)$`,
      'm',
    ).exec(text);
    return Number(line?.[1]);
  };
  const authorizationsStored = async (): Promise<number> => {
    const client = new Client({ connectionString: database.adminUrl });
    await client.connect();
    const { rows } = await client.query<{ n: number }>('select count(*)::int as n from card_auth.authorizations');
    await client.end();
    return rows[0]?.n ?? -1;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    const identity = await createTestIdentity();
    bearer = await identity.bearer();
    server = await startServer({
      database,
      identity,
      environment: {
        PAYMENT_ROLE: 'authorization',
        PAYMENT_FAULTS: '1',
        LANE_AUTHORIZATION_PERMITS: String(PERMITS),
        LANE_AUTHORIZATION_QUEUE: String(QUEUE),
        LANE_AUTHORIZATION_QUEUE_WAIT_MS: '60000',
        LANE_AUTHORIZATION_EXECUTION_MS: '1500',
      },
    });
  });

  it('refuses the one beyond permits and queue with 429 and all that it must carry, and has done nothing for it', async () => {
    await setFaults({ hang: true });
    const held = Array.from({ length: PERMITS + QUEUE }, () => authorize());
    await eventually('permits and queue are full', async () => {
      const { in_use, queued } = await bulkhead();
      return in_use === PERMITS && queued === QUEUE;
    });
    const refusedBefore = await rejections('full');
    const refused = await authorize({ headers: { 'X-Request-Id': 'the-one-too-many' } });
    expectProblem(refused, 429, 'ERR_CARD_AUTH_BULKHEAD_SATURATED');
    expect(refused.headers.get('Retry-After')).toBe('5');
    expect(refused.body).toMatchObject({
      lane: 'authorization',
      instance: '/v1/authorizations',
      request_id: 'the-one-too-many',
      retry: { after_seconds: 5, max_attempts: 3, jitter_seconds: expect.any(Number) },
    });
    expect(await rejections('full')).toBe(refusedBefore + 1);
    expect((await bulkhead()).state).toBe('SATURATED');
    expect(await authorizationsStored()).toBe(0);

    await setFaults({});
    const answers = await Promise.all(held);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: PERMITS + QUEUE }, () => 201));
    expect(await authorizationsStored()).toBe(PERMITS + QUEUE);
    await eventually('all permits are home', async () => (await bulkhead()).in_use === 0);
  });

  it('answers 504 at the execution limit, and keeps the permit until the work has really ended', async () => {
    await setFaults({ hang: true });
    const keys = Array.from({ length: PERMITS }, (_, index) => `timed-out-${index}`);
    const timedOut = await Promise.all(keys.map((idempotencyKey) => authorize({ idempotencyKey })));
    for (const answer of timedOut) expectProblem(answer, 504, 'ERR_EXECUTION_TIMEOUT');
    expect(await bulkhead()).toMatchObject({ in_use: PERMITS, zombies: PERMITS });

    // Nobody waits for the zombies, but their permits are taken: newcomers queue.
    const waiting = authorize();
    await eventually('the newcomer queues', async () => (await bulkhead()).queued === 1);
    await setFaults({});
    expect((await waiting).status).toBe(201);
    await eventually('the zombies are gone', async () => (await bulkhead()).zombies === 0);
    // The work went on to its end after the 504: the key tells, and the same request again gets the same answer.
    const after = await send(url(`/v1/authorizations?idempotency_key=${keys[0]}`), { bearer });
    expect(after.status).toBe(200);
    const again = await authorize({ idempotencyKey: keys[0] });
    expect(again.status).toBe(201);
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect(again.body['id']).toBe(after.body['id']);
  });

  it('shows health and metrics while it is full', async () => {
    await setFaults({ hang: true });
    const held = Array.from({ length: PERMITS + QUEUE + 20 }, () => authorize());
    await eventually('the lane is full', async () => (await bulkhead()).queued === QUEUE);
    for (let round = 0; round < 10; round += 1) {
      const [health, ready, metrics] = await Promise.all([
        send(url('/health')),
        send(url('/health/ready')),
        send(url('/metrics')),
      ]);
      expect([health.status, ready.status, metrics.status]).toEqual([200, 200, 200]);
      expect(metrics.text).toContain(`bulkhead_threads_active{bulkhead="bulkhead_card_auth"} ${PERMITS}`);
    }
    await setFaults({});
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect(statuses.filter((status) => status === 201)).toHaveLength(PERMITS + QUEUE);
  });

  it('drops the work of a client that went while it waited, and its place is free at once', async () => {
    await setFaults({ hang: true });
    const held = Array.from({ length: PERMITS }, () => authorize());
    await eventually('permits are taken', async () => (await bulkhead()).in_use === PERMITS);
    const leaving = new AbortController();
    const gone = authorize({ idempotencyKey: 'left-the-queue', signal: leaving.signal }).catch(() => 'gone');
    await eventually('it waits', async () => (await bulkhead()).queued === 1);
    const abortsBefore = await rejections('client_abort');
    leaving.abort();
    expect(await gone).toBe('gone');
    await eventually('its place is free', async () => (await bulkhead()).queued === 0);
    expect(await rejections('client_abort')).toBe(abortsBefore + 1);
    await setFaults({});
    await Promise.all(held);
    const found = await send(url('/v1/authorizations?idempotency_key=left-the-queue'), { bearer });
    expectProblem(found, 404, 'ERR_NOT_FOUND');
  });

  it('takes no fault without operator credentials', async () => {
    const answer = await send(url('/faults/authorization'), { method: 'PUT', body: { hang: true } });
    expectProblem(answer, 401, 'ERR_UNAUTHENTICATED');
    const callers = await send(url('/faults/authorization'), { method: 'PUT', body: { hang: true }, bearer });
    expectProblem(callers, 403, 'ERR_FORBIDDEN');
  });
});
