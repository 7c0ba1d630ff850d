import { PaymentError } from '../shared/problem';
import { type EdgeServer, type EdgeServerOptions, startEdgeServer } from './testing/edge-server';
import { eventually, RawClient } from './testing/raw-client';

const body = JSON.stringify({ merchant_id: 'mer_1', amount_minor: 100 });
const headers = {
  authorization: 'Bearer shop',
  'idempotency-key': 'k',
  'content-type': 'application/json',
  'content-length': body.length,
};

describe('clients that are slow, or leave', () => {
  let server: EdgeServer;
  const clients: RawClient[] = [];
  const start = async (options: EdgeServerOptions = {}): Promise<void> => {
    server = await startEdgeServer(options);
  };
  const connect = (): RawClient => {
    const client = new RawClient(server.port());
    clients.push(client);
    return client;
  };
  const order = (client = connect()): RawClient => client.head('POST /v1/orders', headers).send(body);
  const held = (): { finish: () => void; runs: () => number; aborted: () => number } => {
    const finishers: (() => void)[] = [];
    let runs = 0;
    let aborted = 0;
    server.work.current = {
      run: (_body, { signal }) => {
        runs += 1;
        signal.addEventListener('abort', () => (aborted += 1));
        return new Promise<object>((resolve) => finishers.push(() => resolve({})));
      },
    };
    return { finish: () => finishers.splice(0).forEach((one) => one()), runs: () => runs, aborted: () => aborted };
  };
  afterEach(async () => {
    for (const client of clients.splice(0)) client.end();
    await server.close();
  });

  it('a body that does not come is answered 408 and the connection closed; no permit, no handler', async () => {
    await start({ bodyMsMax: 80 });
    const work = held();
    const client = connect().head('POST /v1/orders', headers).send('{"merchant');
    const answer = await client.answer();
    expect(answer.status).toBe(408);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', connection: 'close' });
    expect(answer.json()).toMatchObject({ code: 'ERR_REQUEST_TIMEOUT', lane: 'orders' });
    client.send(body.slice(10));
    await client.closing();
    expect(work.runs()).toBe(0);
    expect(server.bulkhead.snapshot().inUse).toBe(0);
    expect(server.edge.bodiesAwaited).toBe(0);
    expect(server.answered).toMatchObject([{ status: 408, code: 'ERR_REQUEST_TIMEOUT' }]);
  });

  it('a body that comes in pieces within the time is a body', async () => {
    await start({ bodyMsMax: 2_000 });
    const client = connect().head('POST /v1/orders', headers);
    for (const piece of body.match(/.{1,9}/g) ?? []) {
      client.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await client.answer()).status).toBe(201);
    expect(server.edge.bodiesAwaited).toBe(0);
  });

  it('the deadline is the body’s alone: a long execution outlives it', async () => {
    await start({ bodyMsMax: 50 });
    const work = held();
    const client = order();
    await eventually(() => work.runs() === 1, 'it ran');
    await new Promise((resolve) => setTimeout(resolve, 120));
    work.finish();
    expect((await client.answer()).status).toBe(201);
  });

  it('a refused request keeps its connection only as long as a body may take', async () => {
    await start({ bodyMsMax: 80 });
    const client = connect().head('POST /v1/orders', {
      ...headers,
      authorization: 'Bearer bad',
      'content-length': 500,
    });
    expect((await client.answer()).status).toBe(401);
    expect(client.closed).toBe(false);
    await client.closing();
    await eventually(() => server.edge.bodiesAwaited === 0, 'nothing was awaited any more');
  });

  it('a body that is too long is answered 413 although its sender goes on sending', async () => {
    await start({ bodyMsMax: 2_000 });
    const chunk = 'x'.repeat(16_000);
    const { 'content-length': _, ...chunked } = { ...headers, 'transfer-encoding': 'chunked' };
    const client = connect().head('POST /v1/orders', chunked);
    for (let sent = 0; sent < 20; sent += 1) client.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const answer = await client.answer();
    expect(answer.json()).toMatchObject({ code: 'ERR_PAYLOAD_TOO_LARGE', status: 413, limit_bytes: 65_536 });
    client.send('0\r\n\r\n');
    expect((await order(client).answer()).status).toBe(201);
  });

  it('a client that vanishes in the middle of its body leaves nothing behind', async () => {
    await start();
    const work = held();
    const client = connect().head('POST /v1/orders', headers).send('{"merchant');
    await eventually(() => server.edge.bodiesAwaited === 1, 'the body was awaited');
    client.vanish();
    await eventually(() => server.answered.length === 1, 'the request was over');
    expect(server.answered[0]).toMatchObject({ aborted: true });
    expect(work.runs()).toBe(0);
    expect(server.edge.bodiesAwaited).toBe(0);
    expect(server.draining.inFlight).toBe(0);
    expect(server.unexpected).toEqual([]);
  });

  it('a client whose body is merely read has not left', async () => {
    await start({ abortWhenAbandoned: true });
    const work = held();
    const client = order();
    await eventually(() => work.runs() === 1, 'it ran');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(work.aborted()).toBe(0);
    work.finish();
    expect((await client.answer()).status).toBe(201);
  });

  it('one that vanishes while it waits frees its place at once and its work never runs', async () => {
    const refused: string[] = [];
    await start({
      limits: { permits: 1, queueMax: 1, queueWaitMsMax: 5_000 },
      observer: { onRefused: (reason) => refused.push(reason) },
    });
    const work = held();
    const running = order();
    await eventually(() => work.runs() === 1, 'the first ran');
    const waiting = order();
    await eventually(() => server.bulkhead.snapshot().queued === 1, 'the second waited');
    waiting.vanish();
    await eventually(() => server.bulkhead.snapshot().queued === 0, 'its place was free');
    const next = order();
    await eventually(() => server.bulkhead.snapshot().queued === 1, 'the third waited');
    work.finish();
    expect((await running.answer()).status).toBe(201);
    await eventually(() => work.runs() === 2, 'the third ran');
    work.finish();
    expect((await next.answer()).status).toBe(201);
    expect(refused).toEqual(['client_abort']);
    expect(server.rejected).toEqual([]);
    expect(server.unexpected).toEqual([]);
  });

  it.each([false, true])('one that vanishes while its work runs is counted once (aborts: %s)', async (aborts) => {
    let left = 0;
    await start({ abortWhenAbandoned: aborts, observer: { onClientAbort: () => (left += 1) } });
    const work = held();
    const client = order();
    await eventually(() => work.runs() === 1, 'it ran');
    client.vanish();
    await eventually(() => server.answered.length === 1, 'the request was over');
    expect(left).toBe(1);
    expect(work.aborted()).toBe(aborts ? 1 : 0);
    expect(server.bulkhead.snapshot().inUse).toBe(1);
    work.finish();
    await eventually(() => server.bulkhead.snapshot().inUse === 0, 'the permit came home');
    expect(server.answered).toMatchObject([{ aborted: true }]);
    expect(server.unexpected).toEqual([]);
  });

  it('a pipelined request whose connection closes before its turn is over too', async () => {
    await start();
    const work = held();
    const client = order(order());
    await eventually(() => work.runs() === 2, 'both ran');
    client.vanish();
    await eventually(() => server.answered.length === 2, 'both were over');
    expect(server.draining.inFlight).toBe(0);
    work.finish();
    await eventually(() => server.bulkhead.snapshot().inUse === 0, 'both permits came home');
  });

  it('pipelined requests are answered in their order', async () => {
    await start();
    const client = connect();
    for (const id of ['a', 'b', 'c']) client.head(`GET /v1/orders/${id}`, { authorization: 'Bearer shop' });
    for (const id of ['a', 'b', 'c']) expect((await client.answer()).json()).toEqual({ id });
    expect(server.draining.inFlight).toBe(0);
  });

  it('a full lane refuses with the whole retry contract, and the time of it is told', async () => {
    await start({ limits: { permits: 1, queueMax: 0, queueWaitMsMax: 0 } });
    const work = held();
    const running = order();
    await eventually(() => work.runs() === 1, 'it ran');
    const answer = await order().answer();
    expect(answer.status).toBe(429);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '5' });
    expect(answer.json()).toMatchObject({
      code: 'ERR_ORDERS_SATURATED',
      lane: 'orders',
      retry: { after_seconds: 5, max_attempts: 3, jitter_seconds: 5 },
    });
    await eventually(() => server.shedMs.length === 1, 'the shed was timed');
    work.finish();
    await running.answer();
    expect(work.runs()).toBe(1);
  });

  it('past the execution limit the caller gets 504 and the permit stays until the work ends', async () => {
    await start({ limits: { permits: 1, queueMax: 0, queueWaitMsMax: 0, executionMsMax: 60 } });
    const work = held();
    const answer = await order().answer();
    expect(answer.status).toBe(504);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({ code: 'ERR_EXECUTION_TIMEOUT', retry: { after_seconds: 5 } });
    expect(work.aborted()).toBe(1);
    expect(server.bulkhead.snapshot()).toMatchObject({ inUse: 1, zombies: 1 });
    expect((await order().answer()).status).toBe(429);
    work.finish();
    await eventually(() => server.bulkhead.snapshot().inUse === 0, 'the permit came home');
    expect(server.answered).toHaveLength(2);
    expect(server.unexpected).toEqual([]);
  });

  it('work that throws before its first await gives the permit back, a thousand times', async () => {
    await start();
    server.work.current = {
      run: () => {
        throw new PaymentError({ code: 'ERR_AT_ONCE', status: 409, title: 'x' }, 'At once.');
      },
    };
    for (let round = 0; round < 1_000; round += 1) {
      await server.app.inject({ method: 'POST', url: '/v1/orders', headers, payload: body });
    }
    expect(server.bulkhead.snapshot().inUse).toBe(0);
    expect(server.answered.filter(({ status }) => status === 409)).toHaveLength(1_000);
  }, 30_000);

  it('no connection in time is counted once, on top of what the bulkhead counts', async () => {
    await start();
    const kind = { code: 'ERR_DATABASE_POOL_EXHAUSTED', status: 503, title: 'x', retryAfterSeconds: 5 } as const;
    server.work.current = { run: () => Promise.reject(new PaymentError(kind, 'No connection came free.')) };
    expect((await order().answer()).status).toBe(503);
    expect(server.rejected).toEqual(['pool_exhausted']);
  });

  it('work that finds no connection after its client has gone is counted as the client’s leaving only', async () => {
    for (const leave of ['vanish', 'end'] as const) {
      let left = 0;
      await start({ observer: { onClientAbort: () => (left += 1) } });
      const kind = { code: 'ERR_DATABASE_POOL_EXHAUSTED', status: 503, title: 'x', retryAfterSeconds: 5 } as const;
      const { promise, reject } = Promise.withResolvers<never>();
      server.work.current = { run: () => promise };
      const client = order();
      await eventually(() => server.bulkhead.snapshot().inUse === 1, 'it ran');
      client[leave]();
      await eventually(() => left === 1, 'its leaving was counted');
      reject(new PaymentError(kind, 'No connection came free.'));
      await eventually(() => server.answered.length === 1, 'the request was over');
      await eventually(() => server.bulkhead.snapshot().inUse === 0, 'the permit came home');
      expect([left, server.rejected]).toEqual([1, []]);
      if (leave === 'vanish') await server.close();
    }
  });

  it('what slows a lane for drills slows a request without a key inside its permit', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await start({ beforeWork: () => promise });
    const client = connect().head('GET /v1/orders/7', { authorization: 'Bearer shop' });
    await eventually(() => server.bulkhead.snapshot().inUse === 1, 'the permit was taken');
    resolve();
    expect((await client.answer()).status).toBe(200);
  });
});
