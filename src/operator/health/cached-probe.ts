/** Health answers within 100 ms whatever it finds (contract 13), so no probe holds it up for longer than this. */
const ANSWER_MS_MAX = 80;
const FRESH_MS = 1_000;
/** An answer older than this says nothing any more. */
const USABLE_MS = 3_000;

/**
 * A look at something slow, shared by all who ask: one at a time, believed for a second. Who asks while it takes long
 * gets the last answer, or, where there is none of late, the given one.
 */
export class CachedProbe<T> {
  readonly #probe: () => Promise<T>;
  readonly #unknown: T;
  #value: { readonly value: T; readonly atMs: number } | null = null;
  #running: Promise<T> | null = null;

  /** @param probe must not reject for ever-lasting; a rejection counts as `unknown`. */
  constructor(probe: () => Promise<T>, unknown: T) {
    this.#probe = probe;
    this.#unknown = unknown;
  }

  async get(): Promise<T> {
    const last = this.#value;
    if (last !== null && performance.now() - last.atMs < FRESH_MS) return last.value;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<T>((resolve) => {
      timer = setTimeout(() => {
        const usable = last !== null && performance.now() - last.atMs < USABLE_MS;
        resolve(usable ? last.value : this.#unknown);
      }, ANSWER_MS_MAX);
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
