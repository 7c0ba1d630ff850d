import type { LaneStore } from '../../../platform/database/statement';
import type { Clock } from '../../../shared/clock';
import { RegularWork } from '../regular-work';
import { neverScanTheWhole, rollUp } from './balance.statements';

export interface BalanceRollUpOptions {
  readonly store: LaneStore;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly onFailed: (error: unknown) => void;
}

/**
 * Keeps the tail of unsummed entries short, once in this process at a time. Only how long a balance takes to read hangs on
 * it: what a balance is never does.
 */
export class BalanceRollUp {
  readonly #options: BalanceRollUpOptions;
  readonly #work: RegularWork;

  constructor(options: BalanceRollUpOptions) {
    this.#options = options;
    this.#work = new RegularWork({ ...options, run: () => this.run() });
  }

  start(): void {
    this.#work.start();
  }

  /** No run begins after this; one under way is waited for. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** @returns how many entries went into the sums. */
  async run(): Promise<number> {
    return this.#options.store.transaction(async (connection) => {
      await connection.query(neverScanTheWhole, []);
      const [row] = await connection.query<{ entries: string }>(rollUp, []);
      return Number(row?.entries ?? 0);
    });
  }
}
