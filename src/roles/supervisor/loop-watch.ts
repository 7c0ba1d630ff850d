export interface LoopWatchOptions {
  nowMs(): number;
  /** CPU time of the whole process so far, all its threads; null where it is gone. */
  cpuMs(): number | null;
  /** Asks the process for a sign of its event loop, which `answered` takes. */
  ask(): void;
  onStuck(): void;
  onTurning(): void;
}

/** A loop this long without a turn serves nobody; a collection of garbage or the largest body there is takes less. */
const SILENT_MS_MAX = 100;
/** Of the time it is silent: a process that waits for a core, or is stopped, has taken less. */
const COMPUTING_SHARE_MIN = 0.5;

/**
 * Tells a process that computes without turning its event loop from one that turns, and from one that only waits for its
 * turn on the machine. Asked again and again by `check`, one question at a time.
 */
export class LoopWatch {
  readonly #options: LoopWatchOptions;
  #asked: { atMs: number; cpuMs: number } | null = null;
  #stuck = false;

  constructor(options: LoopWatchOptions) {
    this.#options = options;
  }

  check(): void {
    const { nowMs, cpuMs, ask, onStuck } = this.#options;
    const cpu = cpuMs();
    if (cpu === null || this.#stuck) return;
    if (this.#asked === null) {
      this.#asked = { atMs: nowMs(), cpuMs: cpu };
      ask();
      return;
    }
    const silentMs = nowMs() - this.#asked.atMs;
    if (silentMs < SILENT_MS_MAX || cpu - this.#asked.cpuMs < silentMs * COMPUTING_SHARE_MIN) return;
    this.#stuck = true;
    onStuck();
  }

  answered(): void {
    this.#asked = null;
    if (!this.#stuck) return;
    this.#stuck = false;
    this.#options.onTurning();
  }
}
