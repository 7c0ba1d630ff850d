import { type Bulkhead, BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import type { Clock } from '../../../shared/clock';
import { pause } from './pause';

/** First pause after a refusal; doubled each time, so that a lane that is full for long is asked ten times a second. */
const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 100;

export interface WaitOptions {
  /** Ends the wait. Work that has begun is not touched. */
  readonly signal: AbortSignal | undefined;
  /** Told each time that the lane had no permit to spare. */
  readonly onRefused: () => void;
}

/**
 * The wait for one of the permits that the lane's workers may hold (contract 3): a job that waits holds none, and
 * neither queues before callers nor overtakes them. Jobs that run at once bound those that wait.
 */
export class BackgroundPermits {
  constructor(
    private readonly bulkhead: Pick<Bulkhead, 'enterBackground'>,
    private readonly clock: Clock,
  ) {}

  /**
   * Runs `work` as soon as there is a permit for it.
   *
   * @throws BulkheadRefusedError `draining`, an Error where the signal ended the wait, or what the work throws.
   */
  async run<T>(work: () => Promise<T>, { signal, onRefused }: WaitOptions): Promise<T> {
    for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      // BullMQ's reason is a text, and what is thrown must be an error.
      if (signal?.aborted) throw new Error(`The wait for a permit was ended: ${String(signal.reason)}`);
      try {
        return await this.bulkhead.enterBackground(work).result;
      } catch (error) {
        if (!(error instanceof BulkheadRefusedError) || error.reason !== 'full') throw error;
      }
      onRefused();
      await pause(this.clock, pauseMs, signal);
    }
  }
}
