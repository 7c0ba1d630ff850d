import type { Clock, TimerHandle } from '../shared/clock';

/** What a timer takes at most: a longer wait is made of several, each of which finds that nothing is due yet. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * The one timer of a bulkhead. It may ring before anything is due (the deadline it was set for has gone, or the
 * timer was early): whoever hears it looks at the clock and sets it again.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #handle: TimerHandle | null = null;
  #dueMs = Infinity;
  #closed = false;

  constructor(clock: Clock, onRing: () => void) {
    this.#clock = clock;
    this.#ring = () => {
      this.#handle = null;
      this.#dueMs = Infinity;
      onRing();
    };
  }

  /** Rings at `dueMs` or earlier. Keeps a timer that is early enough: under load this is one comparison. */
  setFor(dueMs: number): void {
    if (dueMs >= this.#dueMs || this.#closed) return;
    this.cancel();
    this.#dueMs = dueMs;
    this.#handle = this.#clock.schedule(this.#ring, Math.min(Math.max(dueMs - this.#clock.now(), 0), TIMER_MS_MAX));
  }

  cancel(): void {
    if (this.#handle === null) return;
    this.#clock.cancel(this.#handle);
    this.#handle = null;
    this.#dueMs = Infinity;
  }

  close(): void {
    this.cancel();
    this.#closed = true;
  }
}
