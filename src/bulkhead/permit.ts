/** Where a permit came from. */
export interface PermitOwner {
  permitReturned(takenAtMs: number): void;
  permitReturnedTwice(): void;
}

/**
 * The right to run one execution (contract 1). Whoever holds one bounds its own work: no execution limit applies
 * to a permit taken by hand, it is in use until it is released.
 */
export class Permit {
  readonly #owner: PermitOwner;
  readonly #takenAtMs: number;
  #released = false;

  constructor(owner: PermitOwner, takenAtMs: number) {
    this.#owner = owner;
    this.#takenAtMs = takenAtMs;
  }

  /** Gives the permit back; the head waiter has it before this returns. A second call is only counted (contract 4.6). */
  release(): void {
    if (this.#released) {
      this.#owner.permitReturnedTwice();
      return;
    }
    this.#released = true;
    this.#owner.permitReturned(this.#takenAtMs);
  }
}
