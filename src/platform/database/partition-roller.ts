import type { Clock, TimerHandle } from '../../shared/clock';

/**
 * Half the life of a stored answer, the age at which a generation of idempotency keys is sealed: two to three
 * generations exist at a time, and one is dropped each half week (contract 8).
 */
export const KEY_GENERATION_HOURS = 84;
const CHECK_EVERY_MS = 60 * 60 * 1_000;
/** After a failure, such as a table too busy to be locked within 100 ms. */
const RETRY_AFTER_MS = 60 * 1_000;

export interface PartitionRollerOptions<Rolled> {
  readonly clock: Clock;
  /** Makes the partitions that are due and drops the spent ones. @returns what was done; null where nothing was due. */
  readonly roll: () => Promise<Rolled | null>;
  readonly onRolled?: (rolled: Rolled) => void;
  readonly onFailed?: (error: unknown) => void;
}

/**
 * Keeps a partitioned table rolling: the next partitions are made before they are needed, and what is older than its
 * life is dropped. Every process of a lane runs one; the database lets one of them do it.
 */
export class PartitionRoller<Rolled> {
  readonly #options: PartitionRollerOptions<Rolled>;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: PartitionRollerOptions<Rolled>) {
    this.#options = options;
  }

  /** Checks now and every hour from now on. Never rejects: the lane serves with partitions of any age. */
  start(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#running ??= this.#check().finally(() => (this.#running = null));
    return this.#running;
  }

  /** No check begins after this; one under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
    await this.#running;
  }

  async #check(): Promise<void> {
    const { clock, roll, onRolled, onFailed } = this.#options;
    let againInMs = CHECK_EVERY_MS;
    try {
      const rolled = await roll();
      if (rolled !== null) onRolled?.(rolled);
    } catch (error) {
      againInMs = RETRY_AFTER_MS;
      onFailed?.(error);
    }
    if (this.#stopped) return;
    this.#timer = clock.schedule(() => void this.start(), againInMs);
  }
}
