import type { Log } from './log';

/** A request that is over, as the edge tells it. */
export interface AnsweredRequest {
  readonly method: string;
  readonly route: string | null;
  readonly lane: string | null;
  readonly status: number;
  readonly aborted: boolean;
  readonly durationMs: number;
  readonly requestId: string;
  readonly code: string | null;
}

export interface RequestLogOptions {
  /** Slower answers are worth a line of their own. */
  readonly slowMs?: number;
  /** One refusal of a kind is logged per this time, with how many were like it. */
  readonly sampleMs?: number;
  readonly now?: () => number;
}

interface Sample {
  untilMs: number;
  skipped: number;
}

/** Kinds are (status, code, route): bounded by the code base; the bound is for the day on which it is not. */
const KINDS_MAX = 1_000;

/**
 * The access log. A lane that refuses thousands of requests a second must not spend its time on writing so:
 * successes are `debug`, faults and slow answers `warn`, refusals and aborted requests are sampled by kind.
 */
export class RequestLog {
  readonly #log: Log;
  readonly #debugs: boolean;
  readonly #slowMs: number;
  readonly #sampleMs: number;
  readonly #now: () => number;
  readonly #samples = new Map<string, Sample>();

  constructor(log: Log & { isLevelEnabled?(level: string): boolean }, options: RequestLogOptions = {}) {
    this.#log = log;
    this.#debugs = log.isLevelEnabled?.('debug') ?? false;
    this.#slowMs = options.slowMs ?? 1_000;
    this.#sampleMs = options.sampleMs ?? 1_000;
    this.#now = options.now ?? (() => performance.now());
  }

  /** For the edge's `onAnswered`. */
  readonly record = (answered: AnsweredRequest): void => {
    const { status, aborted, durationMs, code } = answered;
    const slow = durationMs >= this.#slowMs;
    if (status < 400 && !aborted && !slow) {
      if (this.#debugs) this.#log.debug(fieldsOf(answered), 'answered');
      return;
    }
    // A 503 or 504 is a refusal by design; 500 and 502 are faults, and each of them counts.
    if (status === 500 || status === 502) return this.#log.warn(fieldsOf(answered), 'failed');
    const skipped = this.#sampled(`${status} ${code} ${answered.route} ${aborted}`);
    if (skipped === null) return;
    const fields = { ...fieldsOf(answered), like_it_since_last: skipped };
    if (slow) this.#log.warn(fields, 'slow');
    else if (status >= 500) this.#log.warn(fields, 'unavailable');
    else this.#log.info(fields, aborted ? 'left by the client' : 'refused');
  };

  /** How many of this kind went unlogged since the last line; null where this one does too. */
  #sampled(kind: string): number | null {
    const nowMs = this.#now();
    const sample = this.#samples.get(kind);
    if (sample === undefined) {
      if (this.#samples.size >= KINDS_MAX) this.#samples.clear();
      this.#samples.set(kind, { untilMs: nowMs + this.#sampleMs, skipped: 0 });
      return 0;
    }
    if (nowMs < sample.untilMs) {
      sample.skipped += 1;
      return null;
    }
    const { skipped } = sample;
    sample.untilMs = nowMs + this.#sampleMs;
    sample.skipped = 0;
    return skipped;
  }
}

function fieldsOf({ method, route, lane, status, durationMs, requestId, code }: AnsweredRequest): object {
  return {
    method,
    route,
    ...(lane === null ? {} : { lane }),
    status,
    duration_ms: Math.round(durationMs * 10) / 10,
    request_id: requestId,
    ...(code === null ? {} : { code }),
  };
}
