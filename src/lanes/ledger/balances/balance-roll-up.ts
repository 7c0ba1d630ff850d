import type { LaneStore } from '../../../platform/database/statement';
import type { Clock, TimerHandle } from '../../../shared/clock';
import { neverScanTheWhole, rollUp } from './balance.statements';

export interface BalanceRollUpOptions {
  readonly store: LaneStore;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onFailed: (error: unknown) => void;
}

/** After a failure in a row the next try comes so many times later at most. */
const SLOWER_MAX = 30;

/**
 * Keeps the tail of unsummed entries short, once in this process at a time. Only how long a balance takes to read hangs on
 * it: what a balance is never does.
 */
export class BalanceRollUp {
  readonly #options: BalanceRollUpOptions;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #failedInARow = 0;
  #stopped = false;

  constructor(options: BalanceRollUpOptions) {
    this.#options = options;
  }

  start(): void {
    this.#schedule();
  }

  /** No run begins after this; one under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    await this.#running;
  }

  /** @returns how many entries went into the sums. */
  async run(): Promise<number> {
    return this.#options.store.transaction(async (connection) => {
      await connection.query(neverScanTheWhole, []);
      const [row] = await connection.query<{ entries: string }>(rollUp, []);
      return Number(row?.entries ?? 0);
    });
  }

  #schedule(): void {
    if (this.#stopped) return;
    const { clock, everyMs } = this.#options;
    this.#timer = clock.schedule(
      () => {
        this.#running = this.#runOnce();
      },
      everyMs * Math.min(this.#failedInARow + 1, SLOWER_MAX),
    );
  }

  async #runOnce(): Promise<void> {
    try {
      await this.run();
      this.#failedInARow = 0;
    } catch (error) {
      this.#failedInARow += 1;
      this.#options.onFailed(error);
    }
    this.#running = null;
    this.#schedule();
  }
}
