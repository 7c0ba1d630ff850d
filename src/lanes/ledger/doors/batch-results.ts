import type { ItemOutcome } from '../ledger';

export interface BatchResults {
  readonly batchId: string;
  /** What each item was called, in request order; null where that could not be read. */
  readonly itemIds: readonly (string | null)[];
  /** As many, in the same order. */
  readonly outcomes: readonly ItemOutcome[];
}

/** The members of a result that all doors share; a batch puts the item's place before them. */
export function resultOf(itemId: string | null, outcome: ItemOutcome): Record<string, unknown> {
  if (outcome.status === 'COMMITTED') {
    return {
      item_id: itemId,
      status: outcome.status,
      ledger_entry_id: outcome.entryId,
      ...(outcome.duplicate && { duplicate: true }),
    };
  }
  const { code, detail, pointer, retryable } = outcome;
  return {
    item_id: itemId,
    status: outcome.status,
    error: { code, detail, ...(pointer !== undefined && { pointer }), retryable },
  };
}

/**
 * The 207 body, written a part at a time: 5,000 results through one `JSON.stringify` would hold the event loop. The
 * results are dense and in request order, and their counts add up (contract 11).
 */
export class BatchResultsWriter {
  readonly #results: BatchResults;
  readonly #parts: string[] = [];
  #next = 0;
  #committed = 0;
  #duplicates = 0;

  constructor(results: BatchResults) {
    if (results.itemIds.length !== results.outcomes.length)
      throw new Error('A batch has a result for each of its items');
    this.#results = results;
  }

  /** @returns whether all of it is written. */
  writeOn(enough: () => boolean): boolean {
    const { itemIds, outcomes } = this.#results;
    while (this.#next < outcomes.length) {
      const index = this.#next;
      const outcome = outcomes[index];
      if (outcome === undefined) throw new Error('An item of a batch was left without an outcome');
      if (outcome.status === 'COMMITTED') {
        this.#committed += 1;
        if (outcome.duplicate) this.#duplicates += 1;
      }
      this.#parts.push(written(index, itemIds[index] ?? null, outcome));
      this.#next += 1;
      if (enough()) break;
    }
    return this.#next === outcomes.length;
  }

  /** The whole body. For when {@link writeOn} has returned true. */
  toString(): string {
    const total = this.#results.outcomes.length;
    return (
      `{"batch_id":"${this.#results.batchId}","total_items":${total},"successful_count":${this.#committed},` +
      `"failed_count":${total - this.#committed},"duplicate_count":${this.#duplicates},` +
      `"results":[${this.#parts.join(',')}]}`
    );
  }
}

/** The usual outcome is put together by hand: its entry id has no character that JSON would escape. */
function written(index: number, itemId: string | null, outcome: ItemOutcome): string {
  if (outcome.status === 'COMMITTED' && !outcome.duplicate) {
    return `{"index":${index},"item_id":${JSON.stringify(itemId)},"status":"COMMITTED","ledger_entry_id":"${outcome.entryId}"}`;
  }
  return JSON.stringify({ index, ...resultOf(itemId, outcome) });
}
