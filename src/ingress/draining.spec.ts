import { ServiceUnavailableException } from '@nestjs/common';
import { type EdgeServer, startEdgeServer } from './testing/edge-server';
import { eventually, RawClient } from './testing/raw-client';

const body = JSON.stringify({ merchant_id: 'mer_1', amount_minor: 100 });
const headers = {
  authorization: 'Bearer shop',
  'idempotency-key': 'k',
  'content-type': 'application/json',
  'content-length': body.length,
};

describe('draining (contract 13)', () => {
  let server: EdgeServer;
  beforeEach(async () => {
    server = await startEdgeServer();
  });
  afterEach(() => server.close());

  it('answers what is in flight, closes its connection, and refuses what comes after', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const running = new RawClient(server.port()).head('POST /v1/orders', headers).send(body);
    const keptAlive = new RawClient(server.port()).head('GET /health/live', {});
    expect((await keptAlive.answer()).headers['connection']).toBe('keep-alive');
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');

    server.draining.begin();
    server.draining.begin();
    let idle = false;
    void server.draining.idle().then(() => (idle = true));

    const refused = await keptAlive.head('POST /v1/orders', headers).send(body).answer();
    expect(refused.status).toBe(503);
    expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': '5' });
    expect(refused.json()).toMatchObject({ code: 'ERR_DRAINING', lane: 'orders', retry: { after_seconds: 5 } });
    await keptAlive.closing();
    expect(server.rejected).toEqual(['draining orders']);
    expect(idle).toBe(false);

    resolve({ done: true });
    const answer = await running.answer();
    expect(answer.status).toBe(201);
    expect(answer.headers['connection']).toBe('close');
    expect(answer.json()).toEqual({ done: true });
    await running.closing();
    await eventually(() => idle, 'the edge was idle');
    expect(server.draining.inFlight).toBe(0);
  });

  it('leaves health open, refuses unknown paths and bad ones, and closes each connection', async () => {
    server.draining.begin();
    for (const [path, status] of [
      ['/health/live', 200],
      ['/nothing', 503],
      ['/%zz', 503],
      ['/v1/orders', 503],
    ] as const) {
      const client = new RawClient(server.port()).head(`GET ${path}`, {});
      const answer = await client.answer();
      expect([path, answer.status, answer.headers['connection']]).toEqual([path, status, 'close']);
      await client.closing();
    }
  });

  it('closes the connection after answers that the filter makes as well: 400, 504, 503', async () => {
    await server.close();
    server = await startEdgeServer({ limits: { permits: 9, executionMsMax: 150 } });
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const late = new RawClient(server.port()).head('POST /v1/orders', headers).send(body);
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');
    const malformed = new RawClient(server.port()).head('POST /v1/orders', headers).send(body.slice(0, -1));
    await eventually(() => server.draining.inFlight === 2, 'its body was on its way');
    server.draining.begin();
    malformed.send('!');
    server.work.open = () => {
      throw new ServiceUnavailableException('not ready');
    };
    const unready = new RawClient(server.port()).head('GET /boom', {});
    for (const [client, status] of [
      [malformed, 400],
      [unready, 503],
      [late, 504],
    ] as const) {
      const answer = await client.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([status, 'close']);
      await client.closing();
    }
    resolve({});
  });

  it('answers every one of several requests on a connection, and closes after the last', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const client = new RawClient(server.port());
    for (let index = 0; index < 2; index += 1) client.head('POST /v1/orders', headers).send(body);
    await eventually(() => server.bulkhead.snapshot().inUse === 2, 'both ran');
    server.draining.begin();
    resolve({});
    const answers = [await client.answer(), await client.answer()];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(answers.map(({ headers: { connection } }) => connection)).toEqual(['keep-alive', 'close']);
    await client.closing();
  });

  it('a listener that closes resets nobody: who has connected is refused politely', async () => {
    server.draining.begin();
    const idle = new RawClient(server.port());
    await eventually(() => !idle.socket.connecting, 'it was connected');
    const clients: RawClient[] = [];
    for (let index = 0; index < 100; index += 1) {
      clients.push(new RawClient(server.port()).head('POST /v1/orders', headers).send(body));
    }
    await eventually(() => clients.every(({ socket }) => !socket.connecting), 'all were connected');
    const stopped = server.edge.stopListening();
    const answers = await Promise.all(clients.map((client) => client.answer()));
    expect(answers.map(({ status }) => status)).toEqual(clients.map(() => 503));
    await stopped;
    await server.draining.idle();
    server.edge.closeConnections();
    await idle.closing();
    const startedAt = performance.now();
    await server.app.close();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('a client that leaves while its work runs does not keep the process', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    server.work.current = { run: () => promise };
    const client = new RawClient(server.port()).head('POST /v1/orders', headers).send(body);
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');
    server.draining.begin();
    client.vanish();
    await server.draining.idle();
    // The permit is the bulkhead's to wait for.
    expect(server.bulkhead.snapshot().inUse).toBe(1);
    resolve({});
    await server.bulkhead.drain();
  });

  it('is idle at once where nothing is in flight', async () => {
    server.draining.begin();
    await server.draining.idle();
    await server.app.inject('/health/live');
    expect(server.draining.inFlight).toBe(0);
  });

  it('loses nothing under load: each request is answered by its handler or refused, and the server closes', async () => {
    server.work.current = { run: () => new Promise((resolve) => setTimeout(() => resolve({}), 5)) };
    const statuses: number[] = [];
    const client = async (): Promise<void> => {
      for (let round = 0; round < 200; round += 1) {
        const answer = await fetch(`http://127.0.0.1:${server.port()}/v1/orders`, {
          method: 'POST',
          headers: { authorization: 'Bearer shop', 'idempotency-key': 'k', 'content-type': 'application/json' },
          body,
        });
        await answer.arrayBuffer();
        statuses.push(answer.status);
        if (answer.status === 503) return;
      }
    };
    const load = Promise.all(Array.from({ length: 3 }, client));
    await new Promise((resolve) => setTimeout(resolve, 60));
    server.draining.begin();
    await load;
    await server.draining.idle();
    const startedAt = performance.now();
    await server.app.close();
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect(statuses.filter((status) => status === 503)).toHaveLength(3);
    expect(statuses.every((status) => status === 201 || status === 503)).toBe(true);
  });
});
