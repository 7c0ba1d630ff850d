import type { Clock } from '../shared/clock';
import { PaymentError } from '../shared/problem';
import type { KeyedOutcome, KeyedRequest } from './idempotency';
import { edgeProblems } from './problems';

/** How long a twin waits for the answer of the request that runs already (contract 8). */
export const TWIN_WAIT_MS_MAX = 250;

export interface KeyedAnswer<Answer> {
  readonly answer: Answer;
  readonly replayed: boolean;
}

/** What a twin learns of the request it waits for. */
type Settled = { readonly ended: true; readonly outcome: KeyedOutcome<unknown> } | { readonly ended: false };
const FAILED: Settled = { ended: false };

interface InFlight {
  readonly payloadHash: Buffer;
  /** Twins that still wait; null while there was none. */
  twins: Set<(settled: Settled) => void> | null;
}

function inFlightError(): PaymentError {
  return new PaymentError(
    edgeProblems.idempotencyInFlight,
    'A request under this idempotency key is still running; the same request again later gets its answer.',
  );
}

function keyReusedError(): PaymentError {
  return new PaymentError(
    edgeProblems.idempotencyKeyReused,
    'This idempotency key was used for a request with another payload; a new request needs a new key.',
  );
}

/**
 * Requests of one lane under an idempotency key, within this process: the first one runs, its twins wait for it.
 * Other processes are the business of the lane's SQL, whose outcome this maps. It holds one entry per running
 * request, so the lane's permits bound it.
 */
export class IdempotencyCoordinator {
  readonly #clock: Clock;
  readonly #beforeWork: () => Promise<void> | null;
  readonly #inFlight = new Map<string, InFlight>();

  /**
   * @param beforeWork Slows the lane for drills; null when there is nothing to wait for. It delays the work of a
   * key that is known to be in flight: looking the key up, and its twins, see what they would see of slow work.
   */
  constructor(clock: Clock, beforeWork: () => Promise<void> | null = () => null) {
    this.#clock = clock;
    this.#beforeWork = beforeWork;
  }

  get size(): number {
    return this.#inFlight.size;
  }

  /** Whether a request under this key runs in this process. Its caller may have been answered 504 already. */
  isInFlight(scopeHash: Buffer): boolean {
    return this.#inFlight.has(scopeHash.toString('latin1'));
  }

  /**
   * Runs `work`, unless a twin runs already: then that one's answer, if it comes within 250 ms. Where the first
   * fails, its twin runs the work itself: one caller's fault is not another's.
   *
   * @throws PaymentError 422 `ERR_IDEMPOTENCY_KEY_REUSED`, 409 `ERR_IDEMPOTENCY_IN_FLIGHT`, or what `work` throws.
   */
  async run<Answer>(request: KeyedRequest, work: () => Promise<KeyedOutcome<Answer>>): Promise<KeyedAnswer<Answer>> {
    const scope = request.scopeHash.toString('latin1');
    let first = this.#inFlight.get(scope);
    if (first === undefined) return this.#lead(scope, request, work);

    const giveUpAtMs = this.#clock.now() + TWIN_WAIT_MS_MAX;
    // Each turn waits for one leader; leaders that fail one after another cannot outlast the deadline.
    while (first !== undefined) {
      if (!first.payloadHash.equals(request.payloadHash)) throw keyReusedError();
      const settled = await this.#wait(first, giveUpAtMs - this.#clock.now());
      if (settled === null) throw inFlightError();
      if (settled.ended) return answerOf(settled.outcome as KeyedOutcome<Answer>, true);
      if (this.#clock.now() >= giveUpAtMs) throw inFlightError();
      first = this.#inFlight.get(scope);
    }
    return this.#lead(scope, request, work);
  }

  async #lead<Answer>(
    scope: string,
    request: KeyedRequest,
    work: () => Promise<KeyedOutcome<Answer>>,
  ): Promise<KeyedAnswer<Answer>> {
    const entry: InFlight = { payloadHash: request.payloadHash, twins: null };
    this.#inFlight.set(scope, entry);
    let settled = FAILED;
    try {
      const faults = this.#beforeWork();
      if (faults !== null) await faults;
      const outcome = await work();
      settled = { ended: true, outcome };
      return answerOf(outcome, false);
    } finally {
      // Out of the map first: the twin that is told of a failure becomes the next leader.
      this.#inFlight.delete(scope);
      for (const tell of entry.twins ?? []) tell(settled);
    }
  }

  /** Resolves with what became of the request, or with null when the wait is over first. */
  #wait(first: InFlight, waitMs: number): Promise<Settled | null> {
    return new Promise((resolve) => {
      const tell = (settled: Settled): void => {
        this.#clock.cancel(timer);
        resolve(settled);
      };
      const timer = this.#clock.schedule(
        () => {
          first.twins?.delete(tell);
          resolve(null);
        },
        Math.max(waitMs, 0),
      );
      (first.twins ??= new Set()).add(tell);
    });
  }
}

function answerOf<Answer>(outcome: KeyedOutcome<Answer>, joined: boolean): KeyedAnswer<Answer> {
  switch (outcome.kind) {
    case 'answered':
      return { answer: outcome.answer, replayed: outcome.replayed || joined };
    case 'key_reused':
      throw keyReusedError();
    case 'in_flight':
      throw inFlightError();
    default: {
      const never: never = outcome;
      throw new Error(`Unknown outcome ${JSON.stringify(never)}`);
    }
  }
}
