/**
 * Lets one through in each round of the event loop, in order. Eight flushes of a large batch become due in one moment, and
 * each costs a millisecond to write out: together they would hold up everything else for longer than a disk takes.
 */
export class OneATurn {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  /** Null where this round is free; else resolves in one of the next. */
  enter(): Promise<void> | null {
    if (this.#taken) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#taken = true;
    setImmediate(this.#next);
    return null;
  }

  readonly #next = (): void => {
    const enter = this.#waiting.shift();
    if (enter === undefined) {
      this.#taken = false;
      return;
    }
    enter();
    setImmediate(this.#next);
  };
}
