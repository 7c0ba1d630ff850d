import type { RestartLimits } from './supervisor-settings';

/** When a process that died is started again, and when no more (contract 2: with back-off and a stated limit). */
export class RestartPolicy {
  readonly #limits: RestartLimits;
  readonly #random: () => number;
  #restartsAtMs: number[] = [];
  #deathsInARow = 0;

  constructor(limits: RestartLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  /**
   * A process has died after so long.
   *
   * @returns the wait before the next start, at least half of it certain; null where it is not to be started again.
   */
  afterDeath(nowMs: number, ranMs: number): number | null {
    const { restartsMax, windowMs, backoffMsMin, backoffMsMax, steadyMs } = this.#limits;
    this.#restartsAtMs = this.#restartsAtMs.filter((atMs) => nowMs - atMs < windowMs);
    if (this.#restartsAtMs.length >= restartsMax) return null;
    if (ranMs >= steadyMs) this.#deathsInARow = 0;
    const waitMs = Math.min(backoffMsMax, backoffMsMin * 2 ** this.#deathsInARow);
    this.#deathsInARow += 1;
    this.#restartsAtMs.push(nowMs);
    // Jitter: processes that died of one cause do not meet it again all at once.
    return Math.round(waitMs * (0.5 + 0.5 * this.#random()));
  }

  /** Somebody has mended the cause: the past counts no longer. */
  forget(): void {
    this.#restartsAtMs = [];
    this.#deathsInARow = 0;
  }
}
