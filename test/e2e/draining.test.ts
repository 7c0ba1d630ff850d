import { request as httpRequest } from 'node:http';
import { eventually, expectProblem, send } from '../support/http';
import { OPERATOR_PASSWORD, startServer } from '../support/server-process';
import { createTestDatabase } from '../support/test-database';
import { createTestIdentity } from '../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
const authorization = {
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0002',
  amount_minor: 100,
  currency: 'USD',
};

describe('a process that is told to stop', () => {
  it('answers what it has accepted, running and queued, refuses the rest with 503, and exits 0', async () => {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const bearer = await identity.bearer();
    const server = await startServer({
      database,
      identity,
      environment: {
        PAYMENT_FAULTS: '1',
        LANE_AUTHORIZATION_PERMITS: '3',
        LANE_AUTHORIZATION_QUEUE: '2',
        LANE_AUTHORIZATION_QUEUE_WAIT_MS: '30000',
      },
    });
    const faults = await send(`${server.url}/faults/authorization`, {
      method: 'PUT',
      body: { latency_ms: 3_000 },
      headers: { Authorization: basic },
    });
    expect(faults.status).toBe(200);
    const sendAll = (keys: readonly string[]) =>
      keys.map((idempotencyKey) =>
        send(`${server.url}/v1/authorizations`, { bearer, body: authorization, idempotencyKey }),
      );
    const bulkhead = async () => {
      const { body } = await send(`${server.url}/health`);
      const lanes = body['lanes'] as Record<
        string,
        { bulkheads: { running: number; background: number; queued: number }[] }
      >;
      return lanes['authorization']?.bulkheads[0];
    };
    // The lane's own workers may hold a permit for a moment, but not while callers hold all three.
    const accepted = sendAll(['a', 'b', 'c']);
    await eventually('three run', async () => {
      const now = await bulkhead();
      return now?.running === 3 && now.background === 0;
    });
    accepted.push(...sendAll(['d', 'e']));
    await eventually('and two wait', async () => (await bulkhead())?.queued === 2);
    server.signal('SIGTERM');
    await eventually('it is unready', async () => (await send(`${server.url}/health/ready`)).status === 503);

    const late = await send(`${server.url}/v1/authorizations`, { bearer, body: authorization });
    expectProblem(late, 503, 'ERR_DRAINING');
    expect(late.headers.get('Connection')).toBe('close');

    const answers = await Promise.all(accepted);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    for (const answer of answers) expect(answer.headers.get('Connection')).toBe('close');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  it('does not wait for idle keep-alive connections', async () => {
    const database = await createTestDatabase();
    const server = await startServer({ database, identity: await createTestIdentity() });
    const { Agent } = await import('node:http');
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      httpRequest(`${server.url}/health/live`, { agent }, (response) => response.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });
    const stoppedAt = performance.now();
    expect(await server.terminate()).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
    agent.destroy();
  });

  it('exits non-zero when work outlasts the grace', async () => {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const server = await startServer({
      database,
      identity,
      environment: { PAYMENT_FAULTS: '1', DRAIN_GRACE_MS: '1000' },
    });
    await send(`${server.url}/faults/authorization`, {
      method: 'PUT',
      body: { hang: true },
      headers: { Authorization: basic },
    });
    const hanging = send(`${server.url}/v1/authorizations`, {
      bearer: await identity.bearer(),
      body: authorization,
    }).catch(() => 'cut off');
    await eventually('it hangs', async () => {
      const { text } = await send(`${server.url}/metrics`);
      return text.includes('bulkhead_threads_active{bulkhead="bulkhead_card_auth"} 1');
    });
    expect(await server.terminate()).toBe(1);
    expect(await hanging).toBe('cut off');
  });
});
