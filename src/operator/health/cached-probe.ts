export interface ProbeTimes {
  /** No probe holds up who asks for longer than this. */
  readonly answerMsMax: number;
  /** An answer is believed for so long. */
  readonly freshMs: number;
  /** An answer older than this says nothing any more, even while the next one takes long. */
  readonly usableMs: number;
}

/** Health answers within 100 ms whatever it finds (contract 13). */
const usualTimes: ProbeTimes = { answerMsMax: 80, freshMs: 1_000, usableMs: 3_000 };

/**
 * A look at something slow, shared by all who ask: one at a time, believed for a while. Who asks while it takes long
 * gets the last answer, or, where there is none of late, the given one.
 */
export class CachedProbe<T> {
  readonly #probe: () => Promise<T>;
  readonly #unknown: T;
  readonly #times: ProbeTimes;
  #value: { readonly value: T; readonly atMs: number } | null = null;
  #running: Promise<T> | null = null;

  /** @param probe must not reject for ever-lasting; a rejection counts as `unknown`. */
  constructor(probe: () => Promise<T>, unknown: T, times: ProbeTimes = usualTimes) {
    this.#probe = probe;
    this.#unknown = unknown;
    this.#times = times;
  }

  async get(): Promise<T> {
    const last = this.#value;
    const { answerMsMax, freshMs, usableMs } = this.#times;
    if (last !== null && performance.now() - last.atMs < freshMs) return last.value;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<T>((resolve) => {
      timer = setTimeout(() => {
        const usable = last !== null && performance.now() - last.atMs < usableMs;
        resolve(usable ? last.value : this.#unknown);
      }, answerMsMax);
    });
    try {
      return await Promise.race([this.#refresh(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #refresh(): Promise<T> {
    this.#running ??= this.#look().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #look(): Promise<T> {
    const value = await this.#probe().catch(() => this.#unknown);
    this.#value = { value, atMs: performance.now() };
    return value;
  }
}
