import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import type { Client } from 'pg';
import { atEndOfFile } from '../../support/closers';
import { type Answer, eventually, expectProblem, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { startOwnRedis, type TestRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

let server: ServerProcess;
let identity: TestIdentity;
let bearer: string;
let database: TestDatabase;
let owner: Client;
let redis: TestRedis;

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  database = await createTestDatabase();
  owner = await database.ownerClient('authorization');
  redis = await startOwnRedis({ durable: true });
  server = await start();
});

function start(): Promise<ServerProcess> {
  return startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'authorization', LANE_AUTHORIZATION_POOL: '10', REDIS_URL: redis.url },
  });
}

function post(path: string, body: unknown, key: string = randomUUID(), given = bearer): Promise<Answer> {
  return send(`${server.url}/v1/${path}`, { bearer: given, idempotencyKey: key, body });
}

async function read(path: string, given = bearer): Promise<Answer> {
  return send(`${server.url}/v1/${path}`, { bearer: given });
}

async function authorize(amount_minor = 1_000, card_token = 'card_demo_usd_0001'): Promise<string> {
  const { status, body } = await post('authorizations', {
    merchant_id: 'mer_demo_0001',
    card_token,
    amount_minor,
    currency: 'USD',
  });
  expect([status, body['status']]).toEqual([201, 'APPROVED']);
  return String(body['id']);
}

/** The ids of all events that the queue has been given. */
async function settlements(): Promise<string[]> {
  const queue = new Queue('authorization-settlement', {
    prefix: lanePrefix('authorization'),
    connection: { url: redis.url },
  });
  try {
    return (await queue.getJobs(['wait'])).map(({ id }) => id ?? '');
  } finally {
    await queue.close();
  }
}

it('a payment lives: authorized, captured in parts, the rest reversed, refunded', async () => {
  const id = await authorize();
  const first = await post(`authorizations/${id}/captures`, { amount_minor: 300 });
  expect(first.status).toBe(201);
  expect(first.headers.get('location')).toBe(`/v1/captures/${String(first.body['id'])}`);
  expect(first.body).toEqual({
    id: expect.stringMatching(/^cap_[0-9A-Z]{26}$/),
    authorization_id: id,
    amount_minor: 300,
    currency: 'USD',
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    refunded_minor: 0,
    authorization: { ...(await read(`authorizations/${id}`)).body, status: 'PARTIALLY_CAPTURED', captured_minor: 300 },
  });
  const second = await post(`authorizations/${id}/captures`, { amount_minor: 500 });
  expect(second.body['authorization']).toMatchObject({ status: 'PARTIALLY_CAPTURED', captured_minor: 800 });
  const reversal = await post(`authorizations/${id}/reversals`, {});
  expect([reversal.status, reversal.body]).toMatchObject([
    201,
    {
      id: expect.stringMatching(/^rev_/),
      authorization_id: id,
      amount_minor: 200,
      authorization: { status: 'CAPTURED', captured_minor: 800, reversed_minor: 200 },
    },
  ]);
  const refund = await post(`captures/${String(second.body['id'])}/refunds`, { amount_minor: 450 });
  expect([refund.status, refund.body]).toMatchObject([
    201,
    {
      id: expect.stringMatching(/^ref_/),
      capture_id: second.body['id'],
      authorization_id: id,
      amount_minor: 450,
      authorization: { status: 'CAPTURED', refunded_minor: 450 },
    },
  ]);
  const now = await read(`authorizations/${id}`);
  expect(now.body).toMatchObject({ status: 'CAPTURED', captured_minor: 800, reversed_minor: 200, refunded_minor: 450 });
  expect((await read(`captures/${String(second.body['id'])}`)).body).toEqual({
    ...second.body,
    refunded_minor: 450,
    authorization: now.body,
  });
  const events = [first, second, refund].map(({ body }) => String(body['id'])).sort();
  await eventually(
    'captures and refund are on their way to the ledger',
    async () => {
      const queued = await settlements();
      return events.every((event) => queued.includes(event));
    },
    5_000,
  );
});

it('replays each move under its key byte for byte, and refuses another payload', async () => {
  const id = await authorize();
  const capture = await post(`authorizations/${id}/captures`, { amount_minor: 400 });
  const moves: [string, object, object][] = [
    [`authorizations/${id}/captures`, { amount_minor: 100 }, { amount_minor: 101 }],
    [`authorizations/${id}/reversals`, { amount_minor: 100 }, {}],
    [`captures/${String(capture.body['id'])}/refunds`, { amount_minor: 100 }, { amount_minor: 99 }],
  ];
  const keys = moves.map(() => randomUUID());
  const firsts: Answer[] = [];
  for (const [n, [path, body]] of moves.entries()) firsts.push(await post(path, body, keys[n]));
  expect(firsts.map(({ status }) => status)).toEqual([201, 201, 201]);
  await post(`authorizations/${id}/reversals`, {});
  for (const [n, [path, body, otherBody]] of moves.entries()) {
    const again = await post(path, body, keys[n]);
    expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([
      201,
      firsts[n]?.text,
      'true',
    ]);
    expect(again.headers.get('location')).toBe(firsts[n]?.headers.get('location'));
    expectProblem(await post(path, otherBody, keys[n]), 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
  }
});

it('reverses all that remains where no amount is given, and nothing where there is no body', async () => {
  const id = await authorize();
  await post(`authorizations/${id}/captures`, { amount_minor: 1 });
  const url = `${server.url}/v1/authorizations/${id}/reversals`;
  expectProblem(await send(url, { method: 'POST', bearer }), 400, 'ERR_VALIDATION');
  const reversal = await post(`authorizations/${id}/reversals`, {});
  expect([reversal.status, reversal.body['amount_minor']]).toEqual([201, 999]);
});

it('two processes given the same move at once make it once', async () => {
  const other = await start();
  for (let round = 0; round < 10; round += 1) {
    const id = await authorize();
    const key = randomUUID();
    const pair = await Promise.all(
      [server, other].map(({ url }) =>
        send(`${url}/v1/authorizations/${id}/captures`, { bearer, idempotencyKey: key, body: { amount_minor: 700 } }),
      ),
    );
    expect(pair.map(({ status }) => status)).toEqual([201, 201]);
    expect(pair[0]?.text).toBe(pair[1]?.text);
    expect((await read(`authorizations/${id}`)).body).toMatchObject({ captured_minor: 700 });
  }
  await other.terminate();
});

it('says no in the words of the contract', async () => {
  const id = await authorize();
  const captures = `authorizations/${id}/captures`;
  for (const amount_minor of [0, -1, 1.5, '1', null, 2 ** 53]) {
    expectProblem(await post(captures, { amount_minor }), 400, 'ERR_VALIDATION');
    expectProblem(await post(`authorizations/${id}/reversals`, { amount_minor }), 400, 'ERR_VALIDATION');
  }
  expectProblem(await post(captures, {}), 400, 'ERR_VALIDATION');
  expectProblem(await post(captures, { amount_minor: 1, currency: 'USD' }), 400, 'ERR_VALIDATION');
  expectProblem(
    await send(`${server.url}/v1/${captures}`, { bearer, idempotencyKey: null, body: { amount_minor: 1 } }),
    400,
    'ERR_BACKOFF_HEADERS_REQUIRED',
  );
  const beyond = await post(captures, { amount_minor: 1_001 });
  expectProblem(beyond, 409, 'ERR_AMOUNT_EXCEEDS_REMAINING');
  expect(beyond.body['remaining_minor']).toBe(1_000);
  const capture = await post(captures, { amount_minor: 1_000 });
  expectProblem(await post(captures, { amount_minor: 1 }), 409, 'ERR_INVALID_STATE');
  expectProblem(await post(`authorizations/${id}/reversals`, {}), 409, 'ERR_INVALID_STATE');
  const refunds = `captures/${String(capture.body['id'])}/refunds`;
  expectProblem(await post(refunds, { amount_minor: 1_001 }), 409, 'ERR_AMOUNT_EXCEEDS_REMAINING');
  expect((await post(refunds, { amount_minor: 1_000 })).status).toBe(201);
  expectProblem(await post(refunds, { amount_minor: 1 }), 409, 'ERR_INVALID_STATE');

  const stranger = await identity.bearer({ merchants: ['mer_demo_0002'] });
  for (const path of [captures, `authorizations/${id}/reversals`, refunds]) {
    expectProblem(await post(path, { amount_minor: 1 }, randomUUID(), stranger), 404, 'ERR_NOT_FOUND');
  }
  expectProblem(await read(`captures/${String(capture.body['id'])}`, stranger), 404, 'ERR_NOT_FOUND');
  for (const wrong of ['aut_1', 'x', id.toLowerCase(), id.replace('aut_', 'cap_'), `${id}%00`]) {
    expectProblem(await post(`authorizations/${wrong}/captures`, { amount_minor: 1 }), 404, 'ERR_NOT_FOUND');
    expectProblem(await post(`captures/${wrong}/refunds`, { amount_minor: 1 }), 404, 'ERR_NOT_FOUND');
  }
  expectProblem(await read(captures), 405, 'ERR_METHOD_NOT_ALLOWED');
});

it('past its time an authorization reads EXPIRED at once, and the sweep frees the card', async () => {
  const id = await authorize(40_000, 'card_demo_low_usd');
  await owner.query(`UPDATE authorizations SET expires_at = now() - interval '1 second' WHERE currency = 'USD'
    AND card_id = (SELECT id FROM cards WHERE token = 'card_demo_low_usd')`);
  expect((await read(`authorizations/${id}`)).body).toMatchObject({ status: 'EXPIRED', expired_minor: 40_000 });
  expectProblem(await post(`authorizations/${id}/captures`, { amount_minor: 1 }), 409, 'ERR_INVALID_STATE');
  await eventually(
    'the card can be charged again',
    async () => {
      const { rows } = await owner.query<{ held: string }>(
        `SELECT held_minor AS held FROM cards WHERE token = 'card_demo_low_usd'`,
      );
      return rows[0]?.held === '0';
    },
    15_000,
  );
  await authorize(50_000, 'card_demo_low_usd');
});

it('a hold announces its expiry in a bucket of time, not one by one', async () => {
  for (let n = 0; n < 20; n += 1) await authorize(1);
  const queue = new Queue('authorization-expiry', {
    prefix: lanePrefix('authorization'),
    connection: { url: redis.url },
  });
  atEndOfFile(() => queue.close());
  const jobs = await queue.getJobs(['delayed']);
  expect(jobs.length).toBeGreaterThan(0);
  expect(jobs.length).toBeLessThan(10);
  for (const job of jobs) {
    expect(Object.keys(job.data as object)).toEqual(['due_at']);
    expect(job.delay).toBeGreaterThan(6.9 * 86_400_000);
  }
  // Told to run now, a job makes the sweep come at once.
  const id = await authorize(5, 'card_demo_usd_0500');
  await owner.query(`UPDATE authorizations SET expires_at = now() - interval '1 second'
    WHERE card_id = (SELECT id FROM cards WHERE token = 'card_demo_usd_0500')`);
  await jobs[0]?.promote();
  await eventually('it has expired', async () => {
    const { rows } = await owner.query(`SELECT FROM authorizations WHERE expired_minor = 5`);
    return rows.length === 1 && id !== '';
  });
});
