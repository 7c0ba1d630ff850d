/** A Redis that is away makes an error with every attempt to reconnect: one line a minute says as much. */
const QUIET_MS = 60_000;

/** Passes on the first error of a kind, then none of that kind for a minute. */
export class ErrorThrottle {
  readonly #quietUntilMs = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether to speak of an error of this kind. Kinds are error codes and names: few by nature, and bounded here. */
  admits(error: Error): boolean {
    const kind = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
    const nowMs = this.#now();
    if ((this.#quietUntilMs.get(kind) ?? 0) > nowMs) return false;
    if (this.#quietUntilMs.size >= 100) this.#quietUntilMs.clear();
    this.#quietUntilMs.set(kind, nowMs + QUIET_MS);
    return true;
  }
}
