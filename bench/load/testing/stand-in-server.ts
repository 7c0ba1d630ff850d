import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

export interface StandInRequest {
  /** 0 for the first request of the server's life. */
  index: number;
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** What the server does with one request. */
export type StandInAction =
  | {
      status: number;
      headers?: Record<string, string>;
      body?: string;
      /** The answer leaves this long after the request was read. */
      latencyMs?: number;
      /** Without a declared length, in pieces. */
      chunked?: boolean;
    }
  /** The connection is reset without an answer. */
  | 'reset'
  /** No answer ever. */
  | 'hang';

export interface StandIn {
  url: string;
  /** Requests read so far. */
  received: () => number;
  /** The client's port of the request read last: the same port is the same connection. */
  lastClientPort: () => number | undefined;
  /** Nothing is answered until the returned function is called: every open and new request waits. */
  stall: () => () => void;
  close: () => Promise<void>;
}

/** A loopback HTTP server whose every answer the caller scripts: what the generator is proven against. */
export async function startStandIn(act: (request: StandInRequest) => StandInAction, port = 0): Promise<StandIn> {
  let received = 0;
  let lastClientPort: number | undefined;
  let stalled: (() => void)[] | null = null;
  const server: Server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const action = act({
        index: received,
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers,
        body: Buffer.concat(parts).toString('utf8'),
      });
      received += 1;
      lastClientPort = incoming.socket.remotePort;
      const run = (): void => perform(action, response);
      if (stalled === null) run();
      else stalled.push(run);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    lastClientPort: () => lastClientPort,
    stall: () => {
      const waiting: (() => void)[] = [];
      stalled = waiting;
      return () => {
        stalled = null;
        for (const run of waiting) run();
      };
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function perform(action: StandInAction, response: ServerResponse): void {
  if (action === 'hang') return;
  if (action === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  const { status, headers, body = '', latencyMs = 0, chunked = false } = action;
  const answer = (): void => {
    response.writeHead(status, chunked ? { ...headers } : { ...headers, 'content-length': Buffer.byteLength(body) });
    if (!chunked) {
      response.end(body);
      return;
    }
    const middle = Math.floor(body.length / 2);
    response.write(body.slice(0, middle));
    response.end(body.slice(middle));
  };
  if (latencyMs === 0) answer();
  else setTimeout(answer, latencyMs);
}

/** What an approved authorization looks like, in size and shape. */
export function approvedBody(id: string): string {
  return JSON.stringify({
    id,
    status: 'APPROVED',
    response_code: '00',
    merchant_id: 'mer_demo_0001',
    amount_minor: 1999,
    captured_minor: 0,
    reversed_minor: 0,
    expired_minor: 0,
    refunded_minor: 0,
    currency: 'USD',
    created_at: '2026-11-30T12:00:00.000Z',
    expires_at: '2026-12-07T12:00:00.000Z',
  });
}
