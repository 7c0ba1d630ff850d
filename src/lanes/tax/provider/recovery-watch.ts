import type { Clock } from '../../../shared/clock';
import type { FailureReason } from './provider-failure';

/** Calls in a row that succeed: the provider has recovered (contract 13). */
const SUCCESSES = 5;
/** So long the lane has to come back by itself. */
const GRACE_MS = 10_000;
/** So many of those that were in use then may still be. */
const LAGGING_MIN = 5;

/**
 * Whether the lane recovers with its provider [MC-RT-01]. Its executions are bounded by limits of their own, so that
 * those of before the recovery are gone 10 s after it; where five are not, they hang on something that no limit reaches,
 * and the lane's sockets and connections are replaced, once for each incident.
 */
export class RecoveryWatch {
  /** Called with how many lag behind; set by whoever can do something about it. */
  onLag: (lagging: number) => void = () => undefined;
  readonly #clock: Clock;
  readonly #inUse = new Set<object>();
  /** Since the last failure; the incident is over at the fifth. */
  #successes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs the work of an execution; it counts as in use until it has really ended. */
  async track<T>(work: () => Promise<T>): Promise<T> {
    const execution = {};
    this.#inUse.add(execution);
    try {
      return await work();
    } finally {
      this.#inUse.delete(execution);
    }
  }

  /** How a call of the provider ended. */
  note(outcome: 'ok' | FailureReason): void {
    // A caller that left and an order that is refused say nothing of the provider.
    if (outcome === 'aborted' || outcome === 'refused') return;
    this.#successes = outcome === 'ok' ? this.#successes + 1 : 0;
    if (this.#successes !== SUCCESSES) return;
    const before = [...this.#inUse];
    if (before.length < LAGGING_MIN) return;
    this.#clock.schedule(() => {
      const lagging = before.filter((execution) => this.#inUse.has(execution)).length;
      if (lagging >= LAGGING_MIN) this.onLag(lagging);
    }, GRACE_MS);
  }
}
