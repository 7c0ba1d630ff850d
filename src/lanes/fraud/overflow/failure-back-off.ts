import type { Clock } from '../../../shared/clock';
import { pause } from './pause';

/** After a first failure; doubled with each that follows without a success between them. */
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 1_000;

/**
 * What makes one job fail, a database that is away, makes the next one fail at once: ten thousand jobs would be tried
 * as fast as they can be read, each with a line in the log. So a job that has failed keeps its place among those that run for
 * a while, and the queue is tried a few times a second until something succeeds.
 */
export class FailureBackOff {
  readonly #clock: Clock;
  #inARow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  succeeded(): void {
    this.#inARow = 0;
  }

  /** @param signal ends the pause. */
  async failed(signal: AbortSignal | undefined): Promise<void> {
    const pauseMs = Math.min(PAUSE_MS_MIN * 2 ** Math.min(this.#inARow, 10), PAUSE_MS_MAX);
    this.#inARow += 1;
    await pause(this.#clock, pauseMs, signal);
  }
}
