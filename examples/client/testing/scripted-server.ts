import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';

export interface SeenRequest {
  method: string;
  path: string;
  key: string | undefined;
  attempt: string | undefined;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Answers one request; without an answer the request hangs. */
export type Step = (request: SeenRequest, response: ServerResponse) => void;

export interface ScriptedServer {
  url: string;
  seen: SeenRequest[];
  close: () => Promise<void>;
}

/** A loopback server that plays one step per request; a request beyond the script is answered 500. */
export async function scriptedServer(...steps: Step[]): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const { headers } = incoming;
      const request: SeenRequest = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        key: headers['idempotency-key']?.toString(),
        attempt: headers['retry-attempt']?.toString(),
        headers,
        body: Buffer.concat(parts).toString('utf8'),
      };
      const step = steps[seen.length] ?? problem(500, 'ERR_BEYOND_THE_SCRIPT');
      seen.push(request);
      step(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

/** A problem document with the retry contract where `afterS` is given. */
export function problem(status: number, code: string, afterS?: number, jitterS = 0): Step {
  const retry = { after_seconds: afterS, max_attempts: 3, jitter_seconds: jitterS };
  return json(
    status,
    { type: 'urn:payment-core:problem:test', title: 'test', status, code, ...(afterS === undefined ? {} : { retry }) },
    { 'content-type': 'application/problem+json', ...(afterS === undefined ? {} : { 'retry-after': String(afterS) }) },
  );
}

/** The connection is reset; `before` is what the server did until then. */
export function reset(before: (request: SeenRequest) => void = () => undefined): Step {
  return (request, response) => {
    before(request);
    response.socket?.resetAndDestroy();
  };
}

export const hang: Step = () => undefined;
