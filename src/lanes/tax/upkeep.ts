import type { Clock, TimerHandle } from '../../shared/clock';

const CHECK_EVERY_MS = 60 * 60 * 1_000;
/** After a failure, such as a table too busy to be locked within 100 ms. */
const RETRY_AFTER_MS = 60 * 1_000;

export interface UpkeepOptions {
  readonly clock: Clock;
  /** Turns the quotes to their next generation where that is due. */
  readonly roll: () => Promise<number | null>;
  /** Removes old estimates, a batch. @returns whether there may be more. */
  readonly purge: () => Promise<boolean>;
  readonly onRolled: (generation: number) => void;
  readonly onFailed: (error: unknown) => void;
}

/** Hourly: what is older than its life goes. Every process of the lane does it; the database lets one of them at a time. */
export class Upkeep {
  readonly #options: UpkeepOptions;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  /** Begins now. Never rejects: the lane serves with rows of any age. */
  start(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#running ??= this.#check().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Nothing begins after this; what is under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
    await this.#running;
  }

  async #check(): Promise<void> {
    const { clock, roll, purge, onRolled, onFailed } = this.#options;
    let againInMs = CHECK_EVERY_MS;
    try {
      const generation = await roll();
      if (generation !== null) onRolled(generation);
      while (!this.#stopped && (await purge())) {
        // A batch after the other: each is a short statement, between which others have their turn.
      }
    } catch (error) {
      againInMs = RETRY_AFTER_MS;
      onFailed(error);
    }
    if (this.#stopped) return;
    this.#timer = clock.schedule(() => void this.start(), againInMs);
  }
}
