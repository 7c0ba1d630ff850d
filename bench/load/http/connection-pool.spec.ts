import { createServer, type Server, type Socket } from 'node:net';
import { type AddressInfo } from 'node:net';
import { startStandIn, type StandIn, type StandInAction } from '../testing/stand-in-server';
import { ConnectionPool, type ConnectionPoolOptions } from './connection-pool';
import { type Outcome } from './exchange';

const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function aPool(url: string, changes: Partial<ConnectionPoolOptions> = {}): Promise<ConnectionPool> {
  const pool = new ConnectionPool({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    connections: 1,
    inFlightMax: 10,
    connectMsMax: 2_000,
    answerMsMax: 5_000,
    nowMs: () => performance.now(),
    ...changes,
  });
  closers.push(() => pool.close());
  await pool.open();
  return pool;
}

async function aServer(act: (index: number) => StandInAction): Promise<StandIn> {
  const server = await startStandIn(({ index }) => act(index));
  closers.push(() => server.close());
  return server;
}

/** A server of raw bytes, for what no HTTP server would send. */
async function rawServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function send(pool: ConnectionPool): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    if (!pool.send(GET, { wantsBody: () => true, settle: resolve })) reject(new Error('overflow'));
  });
}

describe('ConnectionPool', () => {
  it('takes the n-th request and refuses the n + 1st until one has its answer', async () => {
    const server = await aServer(() => ({ status: 200 }));
    const pool = await aPool(server.url, { inFlightMax: 3 });
    const release = server.stall();
    const three = [send(pool), send(pool), send(pool)];
    await expect(send(pool)).rejects.toThrow('overflow');
    release();
    await Promise.all(three);
    await expect(send(pool)).resolves.toMatchObject({ kind: 'answered' });
  });

  it('uses a connection again, and a new one after "Connection: close"', async () => {
    const ports: (number | undefined)[] = [];
    const server = await startStandIn(({ index }) => ({
      status: 200,
      ...(index === 1 ? { headers: { connection: 'close' } } : {}),
    }));
    closers.push(() => server.close());
    const pool = await aPool(server.url);
    for (let index = 0; index < 4; index += 1) {
      await send(pool);
      ports.push(server.lastClientPort());
    }
    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).not.toBe(ports[1]);
    expect(ports[3]).toBe(ports[2]);
  });

  it('reads chunked answers', async () => {
    const server = await aServer(() => ({ status: 200, body: 'in two pieces', chunked: true }));
    expect(await send(await aPool(server.url))).toMatchObject({ kind: 'answered', body: 'in two pieces' });
  });

  it('does not know the outcome where the connection is lost, and sends nothing again', async () => {
    const server = await aServer((index) => (index === 0 ? 'reset' : { status: 200 }));
    const pool = await aPool(server.url);
    expect(await send(pool)).toEqual({ kind: 'unknown', reason: 'connection_lost' });
    expect(server.received()).toBe(1);
    expect(await send(pool)).toMatchObject({ kind: 'answered' });
  });

  it('does not know the outcome where an answer is cut short', async () => {
    const url = await rawServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort')),
    );
    expect(await send(await aPool(url))).toEqual({ kind: 'unknown', reason: 'connection_lost' });
  });

  it('takes an answer without a length when the server ends it', async () => {
    const url = await rawServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nto the end')));
    expect(await send(await aPool(url))).toMatchObject({ kind: 'answered', body: 'to the end' });
  });

  it('does not know the outcome of what it cannot read', async () => {
    const url = await rawServer((socket) => socket.once('data', () => socket.write('garbage\r\n\r\n')));
    expect(await send(await aPool(url))).toEqual({ kind: 'unknown', reason: 'malformed' });
  });

  it('does not take unasked bytes for the answer to the next request', async () => {
    let connections = 0;
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    const url = await rawServer((socket) => {
      connections += 1;
      if (connections === 1) socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n');
      socket.on('data', () => socket.write(answer));
    });
    const pool = await aPool(url);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await send(pool)).toMatchObject({ kind: 'answered', status: 200 });
    expect(connections).toBe(2);
  });

  it('gives up after the limit', async () => {
    const server = await aServer(() => 'hang');
    const pool = await aPool(server.url, { answerMsMax: 60 });
    expect(await send(pool)).toEqual({ kind: 'unknown', reason: 'timeout' });
    expect(pool.inFlight).toBe(0);
  });

  it('says that nothing was sent where no connection can be opened', async () => {
    const server = await aServer(() => ({ status: 200, headers: { connection: 'close' } }));
    const pool = await aPool(server.url);
    await send(pool);
    await server.close();
    expect(await send(pool)).toEqual({ kind: 'not_sent' });
  });

  it('rejects open() where nobody listens', async () => {
    const server = await aServer(() => ({ status: 200 }));
    await server.close();
    await expect(aPool(server.url, { connections: 3 })).rejects.toThrow('0 of 3 connections');
  });

  it('does not use a connection that the server is about to close', async () => {
    let nowMs = 0;
    const ports: (number | undefined)[] = [];
    const server = await aServer(() => ({ status: 200, headers: { 'keep-alive': 'timeout=3' } }));
    const pool = await aPool(server.url, { nowMs: () => nowMs });
    for (const atMs of [0, 1_999, 3_999, 4_000]) {
      nowMs = atMs;
      await send(pool);
      ports.push(server.lastClientPort());
    }
    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).not.toBe(ports[1]);
    expect(ports[3]).toBe(ports[2]);
  });

  it('makes what is open at the end unknown', async () => {
    const server = await aServer(() => 'hang');
    const pool = await aPool(server.url);
    const outcome = send(pool);
    await pool.close();
    expect(await outcome).toMatchObject({ kind: expect.stringMatching(/^(unknown|not_sent)$/) as string });
  });
});
