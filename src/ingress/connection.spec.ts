import { type EdgeServer, type EdgeServerOptions, startEdgeServer } from './testing/edge-server';
import { eventually, RawClient } from './testing/raw-client';

const body = JSON.stringify({ merchant_id: 'mer_1', amount_minor: 100 });
const headers = {
  authorization: 'Bearer shop',
  'idempotency-key': 'k',
  'content-type': 'application/json',
  'content-length': body.length,
};

describe('what else may be on a connection', () => {
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
  /** Work that ends when the test says so. */
  const held = (): { finish: () => void; runs: () => number; aborted: () => number } => {
    const finishers: (() => void)[] = [];
    let runs = 0;
    let aborted = 0;
    server.work.current = {
      run: (_body, { signal }) => {
        runs += 1;
        return new Promise<object>((resolve, reject) => {
          finishers.push(() => resolve({}));
          signal.addEventListener('abort', () => {
            aborted += 1;
            reject(new Error('aborted'));
          });
        });
      },
    };
    return { finish: () => finishers.splice(0).forEach((one) => one()), runs: () => runs, aborted: () => aborted };
  };
  afterEach(async () => {
    for (const client of clients.splice(0)) client.end();
    await server.close();
  });

  describe('something else than HTTP', () => {
    it.each(['GARBAGE\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n'])(
      'waits for the answer of the request before it: %j',
      async (garbage) => {
        await start();
        const work = held();
        const client = order();
        await eventually(() => work.runs() === 1, 'it ran');
        client.send(garbage);
        client.send(garbage);
        await new Promise((resolve) => setTimeout(resolve, 50));
        work.finish();
        expect((await client.answer()).status).toBe(201);
        const farewell = await client.answer();
        expect(farewell.status).toBe(400);
        expect(farewell.headers['connection']).toBe('close');
        await client.closing();
        expect(server.answered).toMatchObject([{ status: 201, aborted: false }]);
      },
    );

    it('waits for all of several', async () => {
      await start();
      const work = held();
      const client = order(order()).send('GARBAGE\r\n\r\n');
      await eventually(() => work.runs() === 2, 'both ran');
      work.finish();
      expect([(await client.answer()).status, (await client.answer()).status]).toEqual([201, 201]);
      expect((await client.answer()).status).toBe(400);
    });

    it('is the answer of the request whose body broke off in it', async () => {
      await start();
      const { 'content-length': _, ...chunked } = { ...headers, 'transfer-encoding': 'chunked' };
      const client = connect().head('POST /v1/orders', chunked).send('5\r\n{"mer\r\nXYZ\r\n');
      expect((await client.answer()).json()).toMatchObject({ code: 'ERR_MALFORMED_REQUEST' });
      await client.closing();
      await eventually(() => server.answered.length === 1, 'the request was over');
    });

    it('is not waited with once the client has gone', async () => {
      await start();
      const work = held();
      const client = order();
      await eventually(() => work.runs() === 1, 'it ran');
      client.send('GARBAGE\r\n\r\n');
      client.vanish();
      await eventually(() => server.answered.length === 1, 'the request was over');
      work.finish();
      await eventually(() => server.bulkhead.snapshot().inUse === 0, 'the permit came home');
      expect(server.unexpected).toEqual([]);
    });
  });

  describe('a client that closes its side', () => {
    it('gets the answer of its request, and no connection is left', async () => {
      let left = 0;
      await start({ observer: { onClientAbort: () => (left += 1) } });
      const work = held();
      const client = order();
      client.socket.end();
      await eventually(() => work.runs() === 1, 'it ran');
      await eventually(() => left === 1, 'its leaving was seen');
      work.finish();
      expect((await client.answer()).status).toBe(201);
      await client.closing();
      expect(server.answered).toMatchObject([{ status: 201, aborted: false }]);
    });

    it('gets it after a token that had to be verified, too', async () => {
      const { promise, resolve } = Promise.withResolvers<null>();
      await start({
        verify: async () => {
          await promise;
          return { subject: 'shop', scopes: new Set(['orders']), merchants: '*' };
        },
      });
      const client = order();
      client.socket.end();
      await eventually(() => server.draining.inFlight === 1, 'the token was looked at');
      await new Promise((resume) => setTimeout(resume, 50));
      resolve(null);
      expect((await client.answer()).status).toBe(201);
      await client.closing();
    });

    it('gets a refusal', async () => {
      await start();
      const client = connect()
        .head('POST /v1/orders', { ...headers, 'content-length': 2 })
        .send('{}');
      client.socket.end();
      expect((await client.answer()).status).toBe(400);
      await client.closing();
    });

    it('gives up its place in the queue', async () => {
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
      waiting.socket.end();
      await waiting.closing();
      expect(server.bulkhead.snapshot().queued).toBe(0);
      expect(refused).toEqual(['client_abort']);
      work.finish();
      expect((await running.answer()).status).toBe(201);
      expect(work.runs()).toBe(1);
      expect(server.unexpected).toEqual([]);
    });

    it('aborts what the lane aborts, which is no fault of the process', async () => {
      await start({ abortWhenAbandoned: true });
      const work = held();
      const client = order();
      await eventually(() => work.runs() === 1, 'it ran');
      client.socket.end();
      await client.closing();
      expect(work.aborted()).toBe(1);
      expect(server.unexpected).toEqual([]);
      expect(server.bulkhead.snapshot().inUse).toBe(0);
      expect(server.answered).toMatchObject([{ aborted: true }]);
    });

    it('in the middle of its body is told so', async () => {
      await start();
      const client = connect().head('POST /v1/orders', headers).send('{"merch');
      client.socket.end();
      expect((await client.answer()).status).toBe(400);
      await client.closing();
      expect(server.draining.inFlight).toBe(0);
    });
  });

  it('64 requests behind one another are answered; more in one write end the connection, for microseconds each', async () => {
    await start();
    let calls = 0;
    server.work.open = () => {
      calls += 1;
      return {};
    };
    const request = 'GET /boom HTTP/1.1\r\nhost: x\r\n\r\n';
    const polite = connect().send(request.repeat(64));
    for (let index = 0; index < 64; index += 1) expect((await polite.answer()).status).toBe(200);
    expect(calls).toBe(64);
    polite.send(request);
    expect((await polite.answer()).status).toBe(200);

    const flood = connect();
    const startedAt = process.cpuUsage();
    flood.send(request.repeat(20_000));
    await flood.closing();
    const { user, system } = process.cpuUsage(startedAt);
    // The writer's share is in it; the route alone, run 20,000 times, would take ten times as long.
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(calls).toBeLessThanOrEqual(65 + 64);
    await eventually(() => server.draining.inFlight === 0, 'nothing was left of it');
  });

  it.each(['GET /health/live', 'HEAD /health/live', 'GET /v1/orders/7', 'GET /nothing', 'DELETE /v1/orders/7'])(
    '%s with a body that never ends keeps its connection no longer than a body may take',
    async (line) => {
      await start({ bodyMsMax: 100 });
      const client = connect().head(line, { authorization: 'Bearer shop', 'content-length': 1_000_000_000 });
      const trickle = setInterval(() => client.send('x'), 10);
      if (!line.startsWith('HEAD')) expect((await client.answer()).status).toBeGreaterThanOrEqual(200);
      await client.closing();
      clearInterval(trickle);
      expect(server.edge.bodiesAwaited).toBe(0);
    },
  );

  it('a GET with a whole body is a GET', async () => {
    await start({ bodyMsMax: 100 });
    const client = connect().head('GET /health/live', { 'content-length': 2 }).send('{}');
    expect((await client.answer()).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(server.edge.bodiesAwaited).toBe(0);
    expect((await client.head('GET /health/live', {}).answer()).status).toBe(200);
  });

  describe('answers that are not read', () => {
    const large = { text: 'x'.repeat(16_000_000) };
    const times = { stalledMsMax: 200, stalledWhileDrainingMsMax: 100, stalledCheckMs: 20 };

    it('end their connection when the client has taken nothing for the time', async () => {
      await start({ times });
      server.work.open = () => large;
      const client = connect();
      client.socket.pause();
      client.head('GET /boom', {});
      await eventually(() => server.answered.length === 1, 'it was given up');
      expect(server.answered).toMatchObject([{ aborted: true }]);
      expect(server.draining.inFlight).toBe(0);
    });

    it('do not hold a process that stops', async () => {
      await start({ times: { ...times, stalledMsMax: 60_000 } });
      server.work.open = () => large;
      const client = connect();
      client.socket.pause();
      client.head('GET /boom', {});
      await eventually(() => server.draining.inFlight === 1, 'it was answered');
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(server.draining.inFlight).toBe(1);
      server.draining.begin();
      await server.draining.idle();
    });

    it('are read as slowly as a client likes, as long as it reads', async () => {
      // The kernel tells the server of what was read in steps of megabytes, so its progress comes in jumps.
      await start({ times: { ...times, stalledMsMax: 3_000 } });
      server.work.open = () => large;
      const client = connect().head('GET /boom', {});
      let received = 0;
      client.socket.on('data', (data: string) => {
        received += data.length;
        client.socket.pause();
        setTimeout(() => client.socket.resume(), 15);
      });
      await new Promise((resolve) => setTimeout(resolve, 3_300));
      expect(client.closed).toBe(false);
      client.socket.removeAllListeners('data').on('data', (data: string) => (received += data.length));
      client.socket.resume();
      await eventually(() => received > large.text.length, 'all of it came');
      expect(server.answered).toMatchObject([{ status: 200, aborted: false }]);
    });

    it('are not those whose work has yet to end', async () => {
      await start({ times });
      const work = held();
      const client = order();
      await eventually(() => work.runs() === 1, 'it ran');
      await new Promise((resolve) => setTimeout(resolve, 500));
      work.finish();
      expect((await client.answer()).status).toBe(201);
    });
  });
});
