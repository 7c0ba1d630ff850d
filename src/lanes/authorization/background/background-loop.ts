import { BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import type { Clock, TimerHandle } from '../../../shared/clock';

/** What a run leaves behind: more of the same, nothing, or something that has to wait (another system is away). */
export type RunResult = 'more' | 'idle' | 'blocked';

export interface BackgroundLoopOptions {
  readonly clock: Clock;
  /** One bounded piece of work under a permit of its own. */
  readonly run: () => Promise<RunResult>;
  /** Between runs that found nothing. */
  readonly everyMs: number;
  /** After a run that was blocked or failed; doubled each time in a row, to `everyMs` or this, whichever is longer. */
  readonly blockedMs: number;
  /** After a run that the lane had no permit for: its callers come first (contract 3). */
  readonly refusedMs: number;
  readonly onFailed: (error: unknown) => void;
}

/**
 * Work of the lane's own, one run at a time in this process, for as long as the process lives. Every process has one;
 * what they do must be safe side by side.
 */
export class BackgroundLoop {
  readonly #options: BackgroundLoopOptions;
  #timer: TimerHandle | null = null;
  #dueAtMs = Infinity;
  #running: Promise<void> | null = null;
  /** Woken while running: the run that is under way may have missed what it was woken for. */
  #wokenMs: number | null = null;
  #blockedInARow = 0;
  #stopped = false;

  constructor(options: BackgroundLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.wake(0);
  }

  /** Runs within `delayMs`, sooner if a run is due already. Costs a comparison where one is. */
  wake(delayMs: number): void {
    if (this.#stopped) return;
    if (this.#running !== null) {
      this.#wokenMs = Math.min(this.#wokenMs ?? Infinity, delayMs);
      return;
    }
    // Whatever blocked the last run (a full queue, a Redis that is away) is not helped by asking more often.
    if (this.#blockedInARow === 0) this.#schedule(delayMs);
  }

  /** No run begins after this; one under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
    await this.#running;
  }

  #schedule(delayMs: number): void {
    const { clock } = this.#options;
    const dueAtMs = clock.now() + delayMs;
    if (this.#timer !== null) {
      if (this.#dueAtMs <= dueAtMs) return;
      clock.cancel(this.#timer);
    }
    this.#dueAtMs = dueAtMs;
    this.#timer = clock.schedule(() => {
      this.#timer = null;
      this.#running = this.#run();
    }, delayMs);
  }

  async #run(): Promise<void> {
    const nextMs = await this.#runOnce();
    this.#running = null;
    const wokenMs = this.#wokenMs ?? Infinity;
    this.#wokenMs = null;
    if (!this.#stopped) this.#schedule(this.#blockedInARow > 0 ? nextMs : Math.min(nextMs, wokenMs));
  }

  async #runOnce(): Promise<number> {
    const { run, everyMs, blockedMs, refusedMs, onFailed } = this.#options;
    try {
      const result = await run();
      if (result !== 'blocked') {
        this.#blockedInARow = 0;
        return result === 'more' ? 0 : everyMs;
      }
    } catch (error) {
      if (error instanceof BulkheadRefusedError) return refusedMs;
      onFailed(error);
    }
    this.#blockedInARow += 1;
    return Math.min(blockedMs * 2 ** (this.#blockedInARow - 1), Math.max(everyMs, blockedMs));
  }
}
