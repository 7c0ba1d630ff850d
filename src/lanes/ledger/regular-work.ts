import type { Clock, TimerHandle } from '../../shared/clock';

export interface RegularWorkOptions {
  readonly clock: Clock;
  readonly run: () => Promise<unknown>;
  readonly everyMs: number;
  readonly onFailed: (error: unknown) => void;
}

/** After failures in a row the next try comes so many times later at most. */
const SLOWER_MAX = 30;

/** Work of the lane's own on which only speed hangs: again and again, once in this process at a time. */
export class RegularWork {
  readonly #options: RegularWorkOptions;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #failedInARow = 0;
  #stopped = false;

  constructor(options: RegularWorkOptions) {
    this.#options = options;
  }

  /** For work that takes many steps: none begins after {@link stop}. */
  get stopped(): boolean {
    return this.#stopped;
  }

  start(): void {
    if (this.#stopped) return;
    const { clock, everyMs } = this.#options;
    this.#timer = clock.schedule(
      () => {
        this.#running = this.#runOnce();
      },
      everyMs * Math.min(this.#failedInARow + 1, SLOWER_MAX),
    );
  }

  /** No run begins after this; one under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    await this.#running;
  }

  async #runOnce(): Promise<void> {
    try {
      await this.#options.run();
      this.#failedInARow = 0;
    } catch (error) {
      this.#failedInARow += 1;
      this.#options.onFailed(error);
    }
    this.#running = null;
    this.start();
  }
}
