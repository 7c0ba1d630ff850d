import type { Bulkhead } from '../../../bulkhead/bulkhead';
import type { Clock } from '../../../shared/clock';
import { BackgroundLoop, type RunResult } from '../background/background-loop';
import type { ExpiryRepository } from './expiry.repository';

export interface ExpirySweeperOptions {
  readonly repository: Pick<ExpiryRepository, 'expire' | 'expireOldest'>;
  readonly bulkhead: Pick<Bulkhead, 'enterBackground'>;
  readonly clock: Clock;
  readonly sweepEveryMs: number;
  /** Authorizations of one statement: a few milliseconds, for which their cards are locked. */
  readonly batchMax: number;
  readonly onExpired: (count: number) => void;
  readonly onFailed: (error: unknown) => void;
}

/** After a sweep that failed, and the first pause before permits are asked for again. */
const BLOCKED_MS = 1_000;
const REFUSED_MS = 500;

/**
 * Finds what is past its `expires_at`, whoever else was to tell of it (contract 9). A batch holds one background permit
 * for its one statement, or two where something was locked; batches follow one another until nothing is due.
 */
export class ExpirySweeper {
  readonly #options: ExpirySweeperOptions;
  readonly #loop: BackgroundLoop;

  constructor(options: ExpirySweeperOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      clock: options.clock,
      run: () => this.sweep(),
      everyMs: options.sweepEveryMs,
      blockedMs: BLOCKED_MS,
      refusedMs: REFUSED_MS,
      onFailed: options.onFailed,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** What the queue's job does: sweeps now, in the sweeper's own turn, so that there is one sweep at a time. */
  wake(): void {
    this.#loop.wake(0);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * One batch.
   *
   * @throws BulkheadRefusedError where the lane has no permit for it, and the database's errors.
   */
  sweep(): Promise<RunResult> {
    const { bulkhead } = this.#options;
    return bulkhead.enterBackground(() => this.#batch()).result;
  }

  async #batch(): Promise<RunResult> {
    const { repository, batchMax, onExpired } = this.#options;
    const { found, expired } = await repository.expire(batchMax);
    // Passed over because it was locked: one of them is waited for, so that a card which is never free expires too.
    const waited = expired < found ? (await repository.expireOldest()).expired : 0;
    if (expired + waited > 0) onExpired(expired + waited);
    // A batch of which nothing could be taken must not be tried again at once.
    return found === batchMax && expired > 0 ? 'more' : 'idle';
  }
}
