import { gzipSync } from 'node:zlib';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { ProviderClient } from '../../../src/lanes/tax/provider/provider-client';
import type { QuoteRequest } from '../../../src/lanes/tax/tax';
import { systemClock } from '../../../src/platform/system-clock';
import { atEndOfFile } from '../../support/closers';
import { eventually } from '../../support/http';

/**
 * A provider that writes to the socket whatever it likes: what no HTTP library would send, and what proxies in between do.
 * None of it may be taken for tax, hold its socket beyond the limit of the call, or spoil the next call.
 */
const CALL_MS_MAX = 400;
const request: QuoteRequest = {
  currency: 'EUR',
  shipTo: { country: 'DE', region: null, postalCode: null },
  lines: [{ id: '1', amountMinor: 1_000, taxCode: null }],
  shippingMinor: 0,
};
const nobodyLeaves = new AbortController().signal;

const good = (line = '{"id":"1","taxable_amount":10,"tax_collectable":1.9,"combined_tax_rate":0.19}'): string =>
  `{"tax":{"order_total_amount":10,"amount_to_collect":1.9,"rate":0.19,"has_nexus":true,"breakdown":{"line_items":[${line}]}}}`;

function http(body: string | Buffer, status = '200 OK', headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body as string);
  const head = [`HTTP/1.1 ${status}`, `Content-Length: ${bytes.length}`, ...headers, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head), bytes]);
}

let behave: (socket: Socket, order: number) => void;
let url: string;
let orders = 0;
const open = new Set<Socket>();

beforeAll(async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
    socket.on('data', (bytes: Buffer) => {
      // Each order comes in one piece: it is short, and the head is its beginning.
      if (!bytes.toString('latin1').startsWith('POST ')) return;
      orders += 1;
      behave(socket, orders);
    });
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEndOfFile(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
});

function newClient(): ProviderClient {
  orders = 0;
  const client = new ProviderClient({
    baseUrl: url,
    token: null,
    callMsMax: CALL_MS_MAX,
    connectionsMax: 2,
    clock: systemClock,
    observer: { onCall: () => undefined },
  });
  atEndOfFile(() => client.close());
  return client;
}

async function outcomeOf(client: ProviderClient, asked = request): Promise<string> {
  try {
    return String((await client.quote(asked, nobodyLeaves)).taxMinor);
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

/** The call's outcome, its socket gone or at rest, and that the next call is answered as if nothing had been. */
async function afterwards(misbehave: (socket: Socket) => void): Promise<string> {
  const client = newClient();
  behave = (socket, order) => (order === 1 ? misbehave(socket) : socket.write(http(good())));
  const startedMs = performance.now();
  const outcome = await outcomeOf(client);
  expect(performance.now() - startedMs).toBeLessThan(CALL_MS_MAX + 500);
  expect(await outcomeOf(client)).toBe('190');
  expect(client.openSockets).toBeLessThanOrEqual(2);
  return outcome;
}

/** 64 MB in 64 KB. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

const NUMBERS = ['NaN', '-0.01', '1e400', '-1e400', '1e-400', 'Infinity', '"1.9"', 'null', '19', '01.9', '1.9.0', '{}'];

it.each(NUMBERS)('%s is no tax of a line', async (number) => {
  const line = `{"id":"1","taxable_amount":10,"tax_collectable":${number},"combined_tax_rate":0.19}`;
  expect(await afterwards((socket) => socket.write(http(good(line))))).toBe('wrong');
});

it.each([
  ['a rate above 100 %', '{"id":"1","taxable_amount":10,"tax_collectable":10,"combined_tax_rate":1.000001}'],
  ['a line that was not ordered', '{"id":"2","taxable_amount":10,"tax_collectable":1.9,"combined_tax_rate":0.19}'],
  ['no line', ''],
  ['a line as text', '"1"'],
])('%s is no tax', async (_name, line) => {
  expect(await afterwards((socket) => socket.write(http(good(line))))).toBe('wrong');
});

it.each<[string, string, (socket: Socket) => void]>([
  ['a page', 'wrong', (socket) => socket.write(http('<html></html>', '200 OK', ['Content-Type: text/html']))],
  ['an error with status 200', 'wrong', (socket) => socket.write(http('{"error":"down","status":500,"detail":"…"}'))],
  ['an empty answer', 'wrong', (socket) => socket.write(http(''))],
  ['204', 'wrong', (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
  ['206 with a good body', 'wrong', (socket) => socket.write(http(good(), '206 Partial Content'))],
  [
    'a redirect to a good answer',
    'wrong',
    (socket) => socket.write(http('', '307 Temporary Redirect', ['Location: /ok'])),
  ],
  ['a permanent redirect', 'wrong', (socket) => socket.write(http('', '308 Permanent Redirect', ['Location: /ok']))],
  ['304', 'wrong', (socket) => socket.write('HTTP/1.1 304 Not Modified\r\n\r\n')],
  [
    'a gzip that nobody asked for',
    'wrong',
    (socket) => socket.write(http(gzipSync(good()), '200 OK', ['Content-Encoding: gzip'])),
  ],
  [
    'a gzip bomb, which is not opened',
    'wrong',
    (socket) => socket.write(http(BOMB, '200 OK', ['Content-Encoding: gzip'])),
  ],
  [
    'a byte that is no UTF-8 within a number',
    'wrong',
    (socket) => socket.write(http(Buffer.from(good().replace('1.9', '1.\xff'), 'latin1'))),
  ],
  ['deep nesting', 'wrong', (socket) => socket.write(http('['.repeat(100_000)))],
  ['something that is no HTTP', 'unreachable', (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n')],
  ['HTTP/2 without being asked', 'unreachable', (socket) => socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))],
  ['101', 'unreachable', (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: tls\r\n\r\n')],
  [
    'two lengths that differ',
    'unreachable',
    (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'),
  ],
  [
    'a chunk of no length',
    'unreachable',
    (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
  ],
  [
    'a head larger than any',
    'unreachable',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`),
  ],
  ['an end before any answer', 'unreachable', (socket) => socket.end()],
  ['an end within the head', 'unreachable', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
  ['an end within the body', 'unreachable', (socket) => socket.end(http(good()).subarray(0, -10))],
  [
    'a body that ends with its connection, too early',
    'wrong',
    (socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${good().slice(0, -10)}`),
  ],
  ['a reset', 'unreachable', (socket) => socket.resetAndDestroy()],
  ['half a head, and then nothing', 'late', (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Le')],
  ['half a body, and then nothing', 'late', (socket) => socket.write(http(good()).subarray(0, -10))],
  // undici takes 100 for no answer to an order that did not ask for it, and closes the connection.
  [
    '100 Continue',
    'unreachable',
    (socket) => socket.write(Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), http(good())])),
  ],
  ['103 Early Hints, and then nothing', 'late', (socket) => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n')],
  [
    'a head a byte at a time',
    'late',
    (socket) => {
      let sent = 0;
      const head = http(good());
      const timer = setInterval(() => socket.write(head.subarray(sent, (sent += 1))), 20);
      socket.once('close', () => clearInterval(timer));
    },
  ],
  [
    '103 Early Hints without end',
    'late',
    (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10);
      socket.once('close', () => clearInterval(timer));
    },
  ],
])('%s is %s, within the limit, and the next call is answered', async (_name, reason, misbehave) => {
  expect(await afterwards(misbehave)).toBe(reason);
});

it('103 Early Hints do not spoil a good answer', async () => {
  const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n');
  expect(await afterwards((socket) => socket.write(Buffer.concat([hints, http(good())])))).toBe('190');
});

it('follows no redirect, wherever it leads', async () => {
  const client = newClient();
  behave = (socket) => socket.write(http('', '307 Temporary Redirect', [`Location: ${url}/v2/taxes`]));
  expect(await outcomeOf(client)).toBe('wrong');
  expect(orders).toBe(1);
});

it('takes no answer that was sent before its order: it is that of nobody', async () => {
  const client = newClient();
  // Two answers to one order; the second would be found by whoever uses the connection next.
  behave = (socket, order) => socket.write(order === 1 ? Buffer.concat([http(good()), http(good())]) : http(good()));
  expect(await outcomeOf(client)).toBe('190');
  const dearer: QuoteRequest = { ...request, lines: [{ id: '1', amountMinor: 2_000, taxCode: null }] };
  // Whatever comes of it, 1.90 on 10.00 is no answer to an order of 20.00.
  expect(await outcomeOf(client, dearer)).not.toBe('190');
  expect(await outcomeOf(client)).toBe('190');
});

it('a server that keeps its half of a connection open keeps no socket of the lane', async () => {
  const client = newClient();
  const held: Socket[] = [];
  behave = (socket) => void held.push(socket);
  expect(await outcomeOf(client)).toBe('late');
  expect(client.openSockets).toBe(0);
  await eventually(
    'the server has seen it',
    async () => held.length === 1 && held.every(({ readableEnded }) => readableEnded),
    1_000,
  );
});
