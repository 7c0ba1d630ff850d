import type { Clock, TimerHandle } from '../../shared/clock';

/** Half the life of a stored answer: two to three generations exist at a time, and one is dropped each half week. */
export const GENERATION_HOURS = 84;
const CHECK_EVERY_MS = 60 * 60 * 1_000;
/** After a failure, such as a table too busy to be locked within 100 ms. */
const RETRY_AFTER_MS = 60 * 1_000;

export interface KeyGenerationRollerOptions {
  readonly clock: Clock;
  /** @returns the new generation's number, or null where none was due. */
  readonly roll: (ageMinHours: number) => Promise<number | null>;
  readonly onRolled?: (generation: number) => void;
  readonly onFailed?: (error: unknown) => void;
}

/**
 * Turns the idempotency keys to a new generation when the current one is half a life old, and with it drops what is
 * older than a life (contract 8). Every process of the lane runs one; the database lets one of them do it.
 */
export class KeyGenerationRoller {
  readonly #options: KeyGenerationRollerOptions;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: KeyGenerationRollerOptions) {
    this.#options = options;
  }

  /** Checks now and every hour from now on. Never rejects: cards are served with keys of any age. */
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
      const generation = await roll(GENERATION_HOURS);
      if (generation !== null) onRolled?.(generation);
    } catch (error) {
      againInMs = RETRY_AFTER_MS;
      onFailed?.(error);
    }
    if (this.#stopped) return;
    this.#timer = clock.schedule(() => void this.start(), againInMs);
  }
}
