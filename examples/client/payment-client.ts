import { type Authorization, type AuthorizationRequest, type FoundByKey } from './authorization';
import { systemClock, type Clock } from './clock';
import { OutcomeUnknownError, PaymentRefusedError } from './errors';
import { type Fetch } from './http';
import { Operation, type Tools } from './operation';
import { RETRIES_MAX } from './retry-rules';

export interface PaymentClientOptions {
  /** Such as `http://127.0.0.1:3001`. */
  baseUrl: string;
  /** A function where tokens are renewed: it is asked before every request. */
  token: string | (() => string | Promise<string>);
  /** For one operation with all its attempts, waits and look-ups. Default 30 s. */
  deadlineMs?: number;
  /** For one request. Above the 10 s after which the platform itself answers 504. Default 12 s. */
  attemptMsMax?: number;
  fetch?: Fetch;
  clock?: Clock;
  /** Uniform in 0 … 1. */
  random?: () => number;
}

export interface CallOptions {
  signal?: AbortSignal;
  deadlineMs?: number;
}

export interface PostOptions extends CallOptions {
  /** One per business operation, made and stored before the first call, kept over every retry: printable ASCII, 1–255. */
  key: string;
  /** 0 … 3. Fewer where the caller has something better to do than wait, as with a tax estimate in hand. */
  retriesMax?: number;
  headers?: Readonly<Record<string, string>>;
}

const DEADLINE_MS_DEFAULT = 30_000;
const ATTEMPT_MS_MAX_DEFAULT = 12_000;
const KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * A caller of payment-core that keeps to docs/clients.md; one instance serves any number of calls at once. Every method
 * throws {@link PaymentRefusedError} (nothing was done), {@link OutcomeUnknownError} (perhaps it was), or the reason of
 * the caller's own signal where nothing had been sent whose fate is open.
 */
export class PaymentClient {
  private readonly tools: Tools;
  private readonly deadlineMs: number;

  constructor(options: PaymentClientOptions) {
    const { token } = options;
    this.deadlineMs = options.deadlineMs ?? DEADLINE_MS_DEFAULT;
    this.tools = {
      baseUrl: options.baseUrl.replace(/\/+$/, ''),
      token: typeof token === 'string' ? () => token : token,
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
      attemptMsMax: options.attemptMsMax ?? ATTEMPT_MS_MAX_DEFAULT,
    };
  }

  /** A decline resolves as well: look at `status`. */
  async authorize(request: AuthorizationRequest, options: PostOptions): Promise<Authorization> {
    return (await this.send('/v1/authorizations', request, options, true)) as Authorization;
  }

  async getAuthorization(id: string, options: CallOptions = {}): Promise<Authorization> {
    const path = `/v1/authorizations/${encodeURIComponent(id)}`;
    const operation = this.operation(id, options);
    return (await operation.run({ method: 'GET', path, retriesMax: RETRIES_MAX, lookUp: false })) as Authorization;
  }

  /** What became of an operation whose answer was lost: one question, without waiting for one that is in flight. */
  async findByKey(key: string, options: CallOptions = {}): Promise<FoundByKey> {
    assertKey(key);
    const { found, answer } = await this.operation(key, options).lookUpOnce();
    if (found !== null) return found;
    if (answer.status !== null && answer.problem !== null) {
      throw new PaymentRefusedError(answer.problem, 1, 'not_retryable');
    }
    throw new OutcomeUnknownError(key, 0, answer.status === null ? answer.cause : answer.body);
  }

  /** Any POST of the platform; resolves to the body of its 2xx answer. */
  async post(path: string, body: unknown, options: PostOptions): Promise<unknown> {
    return this.send(path, body, options, false);
  }

  private send(path: string, body: unknown, options: PostOptions, lookUp: boolean): Promise<unknown> {
    assertKey(options.key);
    return this.operation(options.key, options).run({
      method: 'POST',
      path,
      body: JSON.stringify(body),
      headers: options.headers ?? {},
      retriesMax: Math.min(options.retriesMax ?? RETRIES_MAX, RETRIES_MAX),
      lookUp,
    });
  }

  private operation(key: string, options: CallOptions): Operation {
    const deadlineMs = options.deadlineMs ?? this.deadlineMs;
    return new Operation(this.tools, { key, deadlineMs, signal: options.signal });
  }
}

function assertKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError('an idempotency key is 1 to 255 printable ASCII characters');
}
