import type { ProcessContext } from './process-context';
import { stopProcess } from './process-stop';
import { systemClock } from '../platform/system-clock';
import { type EdgeServer, startEdgeServer } from '../ingress/testing/edge-server';
import { eventually, RawClient } from '../ingress/testing/raw-client';

const body = JSON.stringify({ merchant_id: 'mer_1', amount_minor: 100 });
const headers = {
  authorization: 'Bearer shop',
  'idempotency-key': 'k',
  'content-type': 'application/json',
  'content-length': body.length,
};

describe('the end of a process as its clients see it (contract 13)', () => {
  let server: EdgeServer;
  let port: number;
  const clients: RawClient[] = [];
  const connect = (): RawClient => {
    const client = new RawClient(port);
    clients.push(client);
    return client;
  };
  const stop = (drainGraceMs = 25_000): Promise<0 | 1> =>
    stopProcess(server.app, server.edge, {
      draining: server.draining,
      clock: systemClock,
      settings: { drainGraceMs },
      log: { info: () => {}, error: () => {} },
      tokens: { close: () => {} },
    } as unknown as ProcessContext);
  beforeEach(async () => {
    server = await startEdgeServer({ times: { stalledWhileDrainingMsMax: 100, stalledCheckMs: 20 } });
    port = server.port();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.end();
    await server.close();
  });

  it('waits for nobody’s idle, half-sent or unread connection', async () => {
    server.work.open = () => ({ text: 'x'.repeat(16_000_000) });
    const idle = connect();
    const keptAlive = connect().head('GET /health/live', {});
    await keptAlive.answer();
    const halfSent = connect().send('POST /v1/orders HTTP/1.1\r\nhost: x\r\n');
    const trickling = connect().head('GET /health/live', { 'content-length': 1_000_000_000 });
    await trickling.answer();
    const refused = connect().head('POST /v1/orders', { ...headers, authorization: 'Bearer bad', 'content-length': 9 });
    await refused.answer();
    const unread = connect();
    unread.socket.pause();
    unread.head('GET /boom', {});
    await eventually(() => server.draining.inFlight === 1, 'the answer was on its way');
    const startedAt = performance.now();
    expect(await stop()).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    for (const client of [idle, keptAlive, halfSent, trickling, refused]) await client.closing();
  });

  it('listens and refuses as long as work is under way, and half a second at least', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const running = connect().head('POST /v1/orders', headers).send(body);
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');
    const stopped = stop();
    for (const waitMs of [0, 450, 450]) {
      await new Promise((resume) => setTimeout(resume, waitMs));
      const answer = await connect().head('POST /v1/orders', headers).send(body).answer();
      expect([answer.status, answer.headers['connection']]).toEqual([503, 'close']);
    }
    resolve({ done: true });
    expect((await running.answer()).json()).toEqual({ done: true });
    expect(await stopped).toBe(0);
  });

  it('is a failure where work outlasts the grace, and does not wait longer', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const running = connect().head('POST /v1/orders', headers).send(body);
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');
    const startedAt = performance.now();
    expect(await stop(300)).toBe(1);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    await running.closing();
    resolve({});
  });

  it('resets nobody who connects within the half second: each gets an answer of its own', async () => {
    const statuses: (number | string)[] = [];
    let goesOn = true;
    const client = async (): Promise<void> => {
      while (goesOn) {
        const one = connect();
        one.socket.on('error', (error: Error & { code?: string }) => statuses.push(error.code ?? error.message));
        one.head('GET /v1/orders/7', { authorization: 'Bearer shop' });
        const answer = await one.answer().catch(() => null);
        if (answer !== null) statuses.push(answer.status);
      }
    };
    const load = Promise.all(Array.from({ length: 20 }, client));
    await eventually(() => statuses.length > 100, 'the load was on');
    const stopped = stop();
    setTimeout(() => (goesOn = false), 400);
    expect(await stopped).toBe(0);
    await load;
    expect(statuses).toContain(503);
    expect(statuses.filter((status) => ![200, 429, 503].includes(status as number))).toEqual([]);
  });
});
