import type { Clock } from '../../../shared/clock';
import type { Quote, QuoteRequest } from '../tax';
import { type FailureReason, ProviderFailure } from './provider-failure';
import { ProviderSockets } from './provider-sockets';
import { taxjarQuote } from './taxjar-answer';
import { taxjarOrder } from './taxjar-order';

/** Whoever knows the tax. */
export interface TaxProvider {
  /**
   * Settles when the call has really ended, its socket closed where it was cut off.
   *
   * @throws ProviderFailure
   */
  quote(request: QuoteRequest, signal: AbortSignal): Promise<Quote>;
}

export interface ProviderObserver {
  /** Each call once. */
  onCall(outcome: 'ok' | FailureReason, elapsedMs: number): void;
}

export interface ProviderClientOptions {
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer …`; null sends none. */
  readonly token: string | null;
  /** From the first byte sent to the last one read, connecting included (contract 3). */
  readonly callMsMax: number;
  readonly connectionsMax: number;
  readonly clock: Clock;
  readonly observer: ProviderObserver;
}

/**
 * A request of 64 KiB has some 2,400 lines at most, and TaxJar's breakdown takes about 500 bytes a line: 1.2 MB. Beyond
 * this no answer is read.
 */
const RESPONSE_BYTES_MAX = 2 * 1024 * 1024;
/** An attempt to connect ends before the call that made it does, so that no later call inherits it half done. */
const CONNECT_SHARE_MAX = 0.75;

/** Statuses by which the provider says that this order will not be answered, however often it is sent. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 405, 406, 410, 422]);

interface Reply {
  readonly status: number;
  readonly text: string;
}

/** TaxJar's API over the lane's own sockets. */
export class ProviderClient implements TaxProvider {
  readonly #options: ProviderClientOptions;
  readonly #origin: string;
  readonly #path: string;
  readonly #sockets: ProviderSockets;

  constructor(options: ProviderClientOptions) {
    this.#options = options;
    const base = new URL(options.baseUrl);
    this.#origin = base.origin;
    this.#path = `${base.pathname.replace(/\/+$/, '').replace(/\/v2$/, '')}/v2/taxes`;
    this.#sockets = new ProviderSockets({
      connectionsMax: options.connectionsMax,
      connectMsMax: Math.ceil(options.callMsMax * CONNECT_SHARE_MAX),
      responseBytesMax: RESPONSE_BYTES_MAX,
    });
  }

  /** Sockets that are not closed. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  async quote(request: QuoteRequest, signal: AbortSignal): Promise<Quote> {
    const { clock, observer } = this.#options;
    const startedMs = clock.now();
    try {
      const quote = quoteFrom(await this.#send(taxjarOrder(request), signal), request);
      observer.onCall('ok', clock.now() - startedMs);
      return quote;
    } catch (error) {
      const failure = error instanceof ProviderFailure ? error : failureOf(error);
      observer.onCall(failure.reason, clock.now() - startedMs);
      throw failure;
    }
  }

  /** Cuts every connection; calls under way fail, later ones connect anew [MC-RT-01]. */
  destroySockets(): Promise<void> {
    return this.#sockets.destroyAll();
  }

  close(): Promise<void> {
    return this.#sockets.close();
  }

  async #send(body: string, signal: AbortSignal): Promise<Reply> {
    const { clock, callMsMax } = this.#options;
    const cut = new AbortController();
    // By hand: AbortSignal.any keeps what it listens to alive for as long as the signal lives.
    const abandon = (): void => cut.abort(new ProviderFailure('aborted', 'Nobody waits for this tax any more'));
    const late = (): void => cut.abort(new ProviderFailure('late', `No answer within ${callMsMax} ms`));
    if (signal.aborted) abandon();
    signal.addEventListener('abort', abandon, { once: true });
    const timer = clock.schedule(late, callMsMax);
    try {
      return await this.#exchange(body, cut.signal);
    } catch (error) {
      // The permit is held until this returns: a socket that was told to close may still be open (contract 6).
      await this.#sockets.closing();
      throw cut.signal.aborted ? cut.signal.reason : error;
    } finally {
      clock.cancel(timer);
      signal.removeEventListener('abort', abandon);
    }
  }

  async #exchange(body: string, signal: AbortSignal): Promise<Reply> {
    const { token } = this.#options;
    const response = await this.#sockets.dispatcher.request({
      origin: this.#origin,
      path: this.#path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      body,
      signal,
    });
    return { status: response.statusCode, text: await response.body.text() };
  }
}

function quoteFrom({ status, text }: Reply, request: QuoteRequest): Quote {
  if (status === 200) return taxjarQuote(text, request);
  const reason = REFUSALS.has(status) ? 'refused' : status < 400 ? 'wrong' : 'down';
  throw new ProviderFailure(reason, `The provider answered ${status}`);
}

/** Whatever the socket or the dispatcher threw. */
function failureOf(error: unknown): ProviderFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new ProviderFailure('wrong', `The provider's answer is longer than ${RESPONSE_BYTES_MAX} bytes`, error);
  }
  return new ProviderFailure('unreachable', `The provider cannot be reached (${code})`, error);
}
