import { randomUUID } from 'node:crypto';
import type { SupervisedRole } from '../../../src/roles/supervisor/role-table';
import { eventually, expectProblem, send } from '../../support/http';
import { Edge, installedNginx } from './nginx-process';
import { Topology } from './topology';

/** Small enough to be reached by a test. */
const TAX_CONNECTIONS_MAX = 2;

let nginx: string | null = null;
let topology: Topology;
let edge: Edge;

/** A test that needs nginx; where it cannot be had, that is said and nothing is claimed. */
function testWithNginx(name: string, body: () => Promise<void>): void {
  test(name, async () => {
    if (nginx !== null) return body();
    process.stderr.write(`skipped, since nginx is not installed and cannot be by this user: ${name}\n`);
  });
}

const ports = (): Record<SupervisedRole, number[]> => {
  const { authorization, fraud, tax, ledger, operator } = topology.ports;
  return { authorization: [authorization], fraud: [fraud], tax: [tax], ledger: [ledger], operator: [operator] };
};

beforeAll(async () => {
  nginx = await installedNginx();
  if (nginx === null) return;
  topology = await Topology.start();
  await topology.waitForReady();
  edge = await Edge.start(nginx, ports(), [
    ['limit_conn lanes 128', `limit_conn lanes ${TAX_CONNECTIONS_MAX}`],
    ['proxy_read_timeout 15s', 'proxy_read_timeout 2s'],
  ]);
}, 180_000);

describe('docker/nginx.conf in front of the isolated topology', () => {
  const paths: readonly (readonly [path: string, role: SupervisedRole])[] = [
    ['/v1/authorizations/aut_1', 'authorization'],
    ['/v1/authorizations?idempotency_key=1', 'authorization'],
    ['/v1/captures/cap_1/refunds', 'authorization'],
    ['/v1/fraud/evaluations/evl_1', 'fraud'],
    ['/v1/tax/quotes/quo_1', 'tax'],
    ['/v1/ledger/batches', 'ledger'],
    ['/v1/ledger/stream', 'ledger'],
    ['/v1/ledger/trial-balance', 'ledger'],
    ['/health/ready/tax', 'tax'],
    ['/health', 'operator'],
    ['/docs', 'operator'],
    ['/queues', 'operator'],
    ['/metrics', 'operator'],
  ];

  testWithNginx('each path goes to its lane’s process, with one request id all the way', async () => {
    for (const [path, role] of paths) {
      const requestId = `test-${randomUUID()}`;
      const answer = await send(`${edge.url}${path}`, { headers: { 'X-Request-Id': requestId } });
      const { upstream } = await edge.recordOf(requestId);
      expect({ path, upstream }).toEqual({ path, upstream: `127.0.0.1:${topology.ports[role]}` });
      expect({ path, id: answer.headers.get('X-Request-Id') }).toEqual({ path, id: requestId });
    }
    expect((await topology.authorize(edge.url)).status).toBe(201);
  });

  testWithNginx('answers of nginx itself are problem documents', async () => {
    const bearer = await topology.identity.bearer();
    const large = await send(`${edge.url}/v1/tax/quotes`, { bearer, body: 'x'.repeat(64 * 1024 + 1) });
    expectProblem(large, 413, 'ERR_PAYLOAD_TOO_LARGE');
    expect(large.body).toMatchObject({ lane: 'tax', instance: '/v1/tax/quotes' });
    expect((await edge.recordOf(large.headers.get('X-Request-Id'))).upstream).toBe('');

    const unknown = await send(`${edge.url}/v1/nothing"here?a=b`, { headers: { 'X-Request-Id': 'a "b"' } });
    expectProblem(unknown, 404, 'ERR_NOT_FOUND');
    expect(unknown.headers.get('X-Request-Id')).toMatch(/^[0-9a-f]{32}$/);
    expectProblem(await send(`${edge.url}/faults/tax`, { method: 'PUT', body: {} }), 404, 'ERR_NOT_FOUND');
  });

  testWithNginx('a ledger batch of megabytes is passed on', async () => {
    const bearer = await topology.identity.bearer();
    const body = JSON.stringify({ items: [], filler: 'x'.repeat(2 * 1024 * 1024) });
    const requestId = `test-${randomUUID()}`;
    await send(`${edge.url}/v1/ledger/batches`, { bearer, body, headers: { 'X-Request-Id': requestId } }).catch(
      () => undefined,
    );
    expect((await edge.recordOf(requestId)).upstream).toBe(`127.0.0.1:${topology.ports.ledger}`);
  });

  testWithNginx('a killed tax process is 502 for tax alone, until it is back', async () => {
    process.kill(await topology.pidOf('tax'), 'SIGKILL');
    const killed = (async () => {
      await eventually('tax is told to be away', async () => {
        const answer = await send(`${edge.url}/v1/tax/quotes/quo_1`);
        if (answer.status !== 502) return false;
        expectProblem(answer, 502, 'ERR_LANE_UNREACHABLE');
        expect(answer.headers.get('Retry-After')).toBe('5');
        expect(answer.body).toMatchObject({ lane: 'tax' });
        return true;
      });
      await topology.waitForReady(['tax']);
    })();
    const statuses = await topology.authorizeDuring(killed, edge.url);
    expect(new Set(statuses)).toEqual(new Set([201]));
    await eventually('tax answers', async () => (await send(`${edge.url}/health/ready/tax`)).status === 200);
  });

  testWithNginx('a lane at its connection limit is refused alone; what hangs is 504', async () => {
    const pid = await topology.pidOf('tax');
    process.kill(pid, 'SIGSTOP');
    try {
      const all = Array.from({ length: TAX_CONNECTIONS_MAX + 1 }, () => send(`${edge.url}/v1/tax/quotes/quo_1`));
      // Whichever comes last to nginx is the one too many; it is told at once.
      const refused = await Promise.race(all);
      expectProblem(refused, 429, 'ERR_LANE_CONNECTIONS_EXHAUSTED');
      expect(refused.headers.get('Retry-After')).toBe('5');
      expect((await topology.authorize(edge.url)).status).toBe(201);
      expect((await send(`${edge.url}/v1/fraud/evaluations/evl_1`)).status).not.toBe(429);
      const hung = (await Promise.all(all)).filter((answer) => answer !== refused);
      expect(hung).toHaveLength(TAX_CONNECTIONS_MAX);
      for (const answer of hung) expectProblem(answer, 504, 'ERR_EXECUTION_TIMEOUT');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  testWithNginx('requests under one key meet in one replica, other keys in others', async () => {
    if (nginx === null) return;
    const { fraud, ledger } = topology.ports;
    const replicated = await Edge.start(nginx, { ...ports(), authorization: [fraud, ledger] });
    const upstreamOf = async (idempotencyKey: string): Promise<string> => {
      const { headers } = await send(`${replicated.url}/v1/authorizations`, { body: {}, idempotencyKey });
      return (await replicated.recordOf(headers.get('X-Request-Id'))).upstream;
    };
    const first = await upstreamOf('one-key');
    for (let repeat = 0; repeat < 5; repeat += 1) expect(await upstreamOf('one-key')).toBe(first);
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
    const upstreams = await Promise.all(keys.map(upstreamOf));
    expect([...new Set(upstreams)].sort()).toEqual([`127.0.0.1:${fraud}`, `127.0.0.1:${ledger}`].sort());
  });
});
