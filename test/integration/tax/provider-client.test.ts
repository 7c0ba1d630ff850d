import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderClient } from '../../../src/lanes/tax/provider/provider-client';
import type { Quote, QuoteRequest } from '../../../src/lanes/tax/tax';
import { systemClock } from '../../../src/platform/system-clock';
import { atEndOfFile } from '../../support/closers';
import { eventually } from '../../support/http';

const request: QuoteRequest = {
  currency: 'EUR',
  shipTo: { country: 'DE', region: null, postalCode: null },
  lines: [{ id: '1', amountMinor: 1_000, taxCode: null }],
  shippingMinor: 0,
};
const GOOD = JSON.stringify({
  tax: {
    order_total_amount: 10,
    amount_to_collect: 1.9,
    rate: 0.19,
    has_nexus: true,
    breakdown: { line_items: [{ id: '1', taxable_amount: 10, tax_collectable: 1.9, combined_tax_rate: 0.19 }] },
  },
});
const CONNECTIONS = 3;
const CALL_MS_MAX = 400;
const nobodyLeaves = new AbortController().signal;

let handler: (request: IncomingMessage, response: ServerResponse) => void;
let url: string;
let connections = 0;
const open = new Set<Socket>();
const outcomes: string[] = [];

beforeAll(async () => {
  const server = createHttpServer((incoming, response) => handler(incoming, response));
  server.on('connection', (socket) => {
    connections += 1;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atEndOfFile(() => {
    server.closeAllConnections();
    server.close();
  });
});

function clientOf(baseUrl = url, token: string | null = 'secret'): ProviderClient {
  connections = 0;
  outcomes.length = 0;
  const client = new ProviderClient({
    baseUrl,
    token,
    callMsMax: CALL_MS_MAX,
    connectionsMax: CONNECTIONS,
    clock: systemClock,
    observer: { onCall: (outcome) => outcomes.push(outcome) },
  });
  atEndOfFile(() => client.close());
  return client;
}

/** What became of a call, and whether a socket of it was left when it had. */
async function reasonOf(call: Promise<Quote>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

const answers = (status: number, body: string, type = 'application/json') => {
  handler = (incoming, response) => {
    incoming.resume();
    incoming.on('end', () => response.writeHead(status, { 'content-type': type }).end(body));
  };
};

it('sends what TaxJar’s reference asks for, and keeps its connection for the next call', async () => {
  const seen: string[] = [];
  let body = '';
  handler = (incoming, response) => {
    const { method, url: path, headers } = incoming;
    seen.push(`${method} ${path} ${headers['content-type']} ${headers.authorization}`);
    body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => response.end(GOOD));
  };
  const client = clientOf();
  for (let call = 0; call < 6; call += 1) {
    expect(await client.quote(request, nobodyLeaves)).toMatchObject({ taxMinor: 190, jurisdiction: 'DE' });
  }
  expect(new Set(seen)).toEqual(new Set(['POST /v2/taxes application/json Bearer secret']));
  expect(JSON.parse(body)).toEqual({
    to_country: 'DE',
    amount: 10,
    shipping: 0,
    line_items: [{ id: '1', quantity: 1, unit_price: 10 }],
  });
  // The dispatcher may take a second one while it notes that the first is free.
  expect(connections).toBeLessThanOrEqual(2);
  expect(outcomes).toEqual(Array.from({ length: 6 }, () => 'ok'));
});

it('takes an address with a path, and sends no token where it has none', async () => {
  let seen = '';
  handler = ({ url: path, headers }, response) => {
    seen = `${path} ${headers.authorization}`;
    response.end(GOOD);
  };
  await clientOf(`${url}/sandbox/v2/`, null).quote(request, nobodyLeaves);
  expect(seen).toBe('/sandbox/v2/taxes undefined');
});

it.each([
  ['down', 500],
  ['down', 503],
  ['down', 429],
  ['down', 401],
  ['refused', 400],
  ['refused', 422],
  ['wrong', 302],
  ['wrong', 204],
])('is %s for %i, even with a good body', async (reason, status) => {
  answers(status, GOOD);
  expect(await reasonOf(clientOf().quote(request, nobodyLeaves))).toBe(reason);
});

it('is wrong for a page with status 200', async () => {
  answers(200, '<html>ok</html>', 'text/html');
  expect(await reasonOf(clientOf().quote(request, nobodyLeaves))).toBe('wrong');
});

/** Every one of these ends with the socket closed: that is when the permit comes back. */
describe('a call that is cut off', () => {
  const silent = (): void => {
    handler = () => undefined;
  };

  it('ends at its limit where nothing comes, its socket closed', async () => {
    silent();
    const others = open.size;
    const client = clientOf();
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('late');
    expect(client.openSockets).toBe(0);
    await eventually('the server sees it', async () => open.size <= others);
  });

  it('ends at its limit where a body has no end', async () => {
    handler = (_incoming, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(timer));
    };
    const client = clientOf();
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('late');
    expect(client.openSockets).toBe(0);
  });

  it('ends where a body grows beyond what anybody would answer', async () => {
    handler = (_incoming, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
      };
      response.on('drain', more);
      more();
    };
    const client = clientOf();
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('wrong');
    expect(client.openSockets).toBe(0);
  });

  it('ends when its caller goes', async () => {
    silent();
    const client = clientOf();
    const leaving = new AbortController();
    const call = reasonOf(client.quote(request, leaving.signal));
    await eventually('it is open', async () => client.openSockets === 1);
    leaving.abort();
    expect(await call).toBe('aborted');
    expect(client.openSockets).toBe(0);
    expect(outcomes).toEqual(['aborted']);
  });

  it('never begins where its caller has gone before', async () => {
    const gone = new AbortController();
    gone.abort();
    const client = clientOf();
    expect(await reasonOf(client.quote(request, gone.signal))).toBe('aborted');
    expect(connections).toBe(0);
  });

  it('takes no companion along', async () => {
    handler = (_incoming, response) => void setTimeout(() => response.end(GOOD), 150);
    const client = clientOf();
    const leaving = new AbortController();
    const calls = [client.quote(request, leaving.signal), client.quote(request, nobodyLeaves)].map(reasonOf);
    await eventually('both are open', async () => client.openSockets === 2);
    leaving.abort();
    expect(await Promise.all(calls)).toEqual(['aborted', 'ok']);
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('ok');
  });

  it('ends at once when the provider resets the connection', async () => {
    handler = (incoming) => void setTimeout(() => incoming.socket.resetAndDestroy(), 20);
    const client = clientOf();
    const startedMs = performance.now();
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('unreachable');
    expect(performance.now() - startedMs).toBeLessThan(CALL_MS_MAX);
    expect(client.openSockets).toBe(0);
  });

  it('with all others, when the lane destroys its sockets; the next call has a new one', async () => {
    silent();
    const client = clientOf();
    const calls = Array.from({ length: CONNECTIONS }, () => reasonOf(client.quote(request, nobodyLeaves)));
    await eventually('all are open', async () => client.openSockets === CONNECTIONS);
    await client.destroySockets();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['unreachable']));
    answers(200, GOOD);
    expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('ok');
  });
});

it('never opens more connections than it has permits, and leaves none behind', async () => {
  handler = () => undefined;
  const client = clientOf();
  const others = open.size;
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: CONNECTIONS }, () => reasonOf(client.quote(request, nobodyLeaves)));
    await sleep(CALL_MS_MAX / 2);
    expect(client.openSockets).toBe(CONNECTIONS);
    expect(open.size).toBeLessThanOrEqual(others + CONNECTIONS);
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['late']));
    expect(client.openSockets).toBe(0);
  }
});

it('is told at once of a port where nobody listens', async () => {
  const closed = createServer().listen({ port: 0, host: '127.0.0.1' });
  await new Promise((resolve) => closed.once('listening', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const client = clientOf(`http://127.0.0.1:${port}`);
  expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('unreachable');
  expect(client.openSockets).toBe(0);
});

it('finds no name that does not exist, by its own resolver and within its limit', async () => {
  const client = clientOf('http://tax.invalid');
  expect(['unreachable', 'late']).toContain(await reasonOf(client.quote(request, nobodyLeaves)));
});

it('knows localhost without asking anybody', async () => {
  answers(200, GOOD);
  const client = clientOf(url.replace('127.0.0.1', 'localhost'));
  expect(await reasonOf(client.quote(request, nobodyLeaves))).toBe('ok');
});
