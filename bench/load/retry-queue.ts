/** Things that are due later, earliest first; bounded. */
export class RetryQueue<Item extends { readonly dueMs: number }> {
  /** Latest first, so that taking the earliest moves nothing. */
  private readonly items: Item[] = [];

  constructor(private readonly sizeMax: number) {}

  get size(): number {
    return this.items.length;
  }

  get nextDueMs(): number | null {
    return this.items.at(-1)?.dueMs ?? null;
  }

  /** False where the queue is full. */
  add(item: Item): boolean {
    if (this.items.length >= this.sizeMax) return false;
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.items[middle];
      if (other !== undefined && other.dueMs > item.dueMs) low = middle + 1;
      else high = middle;
    }
    this.items.splice(low, 0, item);
    return true;
  }

  take(): Item | null {
    return this.items.pop() ?? null;
  }

  clear(): Item[] {
    return this.items.splice(0);
  }
}
