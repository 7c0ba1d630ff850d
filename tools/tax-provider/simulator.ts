import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { changed, noFaults, type Settings } from './control';
import { type Json, parseJson, type Writable, writeJson } from './json';
import { ratesAt, summaryRates } from './lookups';
import type { Rates } from './rates';
import { Refused, taxesOf } from './taxes';

const BODY_BYTES_MAX = 4 * 1024 * 1024;
const SLOW_BODY_BYTE_EVERY_MS = 250;

/** What no client should take for tax, in turn: a page, an error that is called a success, half a document. */
const GARBAGE: readonly { readonly type: string; readonly body: string }[] = [
  { type: 'text/html', body: '<html><body><h1>503 Service Unavailable</h1></body></html>' },
  { type: 'application/json', body: '{"error":"Internal Server Error","status":500,"detail":"out of order"}' },
  { type: 'application/json', body: '{"tax":{"order_total_amount":16.5,"amount_to_coll' },
];

/** Both forms that TaxJar takes; which token it is plays no part here. */
const TOKEN = /^(Bearer \S+|Token token="\S+")$/;

interface Answer {
  readonly status: number;
  readonly body: Writable;
}

export interface SimulatorOptions {
  /**
   * As TaxJar's reference says and as its users report: a token is demanded, and a ZIP of orders to the US, and sums are
   * rounded to the cent. Without it the simulator answers what a table and its certification must ask: whole states, exactly.
   */
  readonly strict?: boolean;
}

/** A tax provider for drills and tests: TaxJar's three endpoints, and faults on demand. Development equipment. */
export class Simulator {
  readonly #server: Server;
  readonly #rates: Rates;
  readonly #strict: boolean;
  #settings: Settings = noFaults;
  #inFlight = 0;
  #calls = 0;
  #aborted = 0;

  constructor(rates: Rates, { strict = false }: SimulatorOptions = {}) {
    this.#rates = rates;
    this.#strict = strict;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @returns the port. */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator');
    if (pathname === '/control') {
      await this.#control(request, response);
      return;
    }
    this.#count(response);
    const { latency_ms, jitter_ms, error_rate, mode } = this.#settings;
    const body = await textOf(request);
    if (body === null) return;
    if (mode === 'hang') return;
    await pause(latency_ms + Math.random() * jitter_ms);
    if (response.destroyed) return;
    if (mode === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    if (Math.random() < error_rate) {
      send(response, { status: 500, body: problem(500, 'Internal Server Error', 'a fault that was asked for') });
      return;
    }
    if (mode === 'garbage') {
      const { type, body: garbage } = GARBAGE[this.#calls % GARBAGE.length] as (typeof GARBAGE)[number];
      response.writeHead(200, { 'content-type': type }).end(garbage);
      return;
    }
    const answer = this.#answer(request, pathname, searchParams, body);
    if (mode === 'slow_body') drip(response, writeJson(answer.body));
    else send(response, answer);
  }

  #count(response: ServerResponse): void {
    this.#calls += 1;
    this.#inFlight += 1;
    response.once('close', () => {
      this.#inFlight -= 1;
      if (!response.writableFinished) this.#aborted += 1;
    });
  }

  #answer({ method = 'GET', headers }: IncomingMessage, path: string, query: URLSearchParams, body: string): Answer {
    try {
      if (this.#strict && !TOKEN.test(headers.authorization ?? '')) throw new Refused(401, 'A token is needed');
      if (path === '/v2/taxes') return only('POST', method, () => taxesOf(json(body), this.#rates, this.#strict));
      if (path === '/v2/summary_rates') return only('GET', method, () => summaryRates(this.#rates));
      const [, postalCode] = /^\/v2\/rates\/([^/]+)$/.exec(path) ?? [];
      if (postalCode === undefined) return { status: 404, body: problem(404, 'Not Found', `There is no ${path}`) };
      const country = query.get('country') ?? 'US';
      return only('GET', method, () =>
        ratesAt(decodeURIComponent(postalCode), country, query.get('state'), this.#rates),
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const names = { 400: 'Bad Request', 401: 'Unauthorized', 404: 'Not Found', 406: 'Not Acceptable' };
      return { status: error.status, body: problem(error.status, names[error.status], error.detail) };
    }
  }

  async #control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'PUT') {
      const next = changed(this.#settings, parsed((await textOf(request)) ?? ''));
      if (typeof next === 'string') {
        send(response, { status: 400, body: problem(400, 'Bad Request', next) });
        return;
      }
      this.#settings = next;
    } else if (request.method !== 'GET') {
      send(response, { status: 405, body: problem(405, 'Method Not Allowed', 'GET or PUT') });
      return;
    }
    const counts = { in_flight: this.#inFlight, calls: this.#calls, aborted: this.#aborted };
    send(response, { status: 200, body: { ...this.#settings, ...counts } });
  }
}

function only(wanted: string, method: string, answer: () => Writable): Answer {
  if (method === wanted) return { status: 200, body: answer() };
  return { status: 405, body: problem(405, 'Method Not Allowed', `${wanted} only`) };
}

function problem(status: number, error: string, detail: string): Writable {
  return { error, status, detail };
}

function json(body: string): Json {
  const value = parsed(body);
  if (value === undefined) throw new Refused(400, 'The body is not JSON');
  return value;
}

/** Undefined for what is no JSON. */
function parsed(body: string): Json | undefined {
  try {
    return parseJson(body);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(writeJson(body));
}

/** Byte after byte, until the client has had enough. */
function drip(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  let sent = 0;
  const timer = setInterval(() => {
    response.write(body.charAt(sent));
    sent += 1;
    if (sent === body.length) response.end();
  }, SLOW_BODY_BYTE_EVERY_MS);
  response.once('close', () => clearInterval(timer));
}

/** The body; null where the client went, or sent more than anybody orders. */
async function textOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) {
        request.destroy();
        return null;
      }
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
