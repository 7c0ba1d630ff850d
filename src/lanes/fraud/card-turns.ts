/**
 * One evaluation of a card at a time in this process: side by side all but one of them would find their facts out of
 * date when they come to store their result. Bounded by the lane's permits, since each waiter holds one.
 */
export class CardTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  get size(): number {
    return this.#last.size;
  }

  async take<Result>(cardFingerprint: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(cardFingerprint);
    // Whatever became of the one before is its own caller's business.
    const turn = before === undefined ? work() : before.then(work, work);
    this.#last.set(cardFingerprint, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(cardFingerprint) === turn) this.#last.delete(cardFingerprint);
    }
  }
}
