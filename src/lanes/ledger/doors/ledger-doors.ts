import type { Caller } from '../../../ingress/caller';
import { edgeProblems } from '../../../ingress/problems';
import { validationError } from '../../../ingress/validation';
import { PaymentError } from '../../../shared/problem';
import type { AdmissionVerdict, Ingest, ItemOutcome, LedgerItem } from '../ledger';
import { BatchReader, TooManyItemsError } from '../items/batch-reader';
import { ItemReader, type ReadItem } from '../items/item-reader';
import { NotJsonError, skipSpace } from '../items/json-text';
import { type BatchResults, BatchResultsWriter } from './batch-results';
import type { Turns } from './turns';

/** Up to here a body is read, and as many results are written, in one go: a fraction of a millisecond. */
const CHARACTERS_AT_ONCE_MAX = 64 * 1024;
const RESULTS_AT_ONCE_MAX = 500;

export interface LedgerDoorsOptions {
  readonly ingest: Ingest;
  readonly turns: Turns;
  readonly batchItemsMax: number;
  readonly newBatchId: () => string;
  /** The answer to a request that found no room, counted. */
  readonly refuse: (refusal: Exclude<AdmissionVerdict, 'admitted'>) => PaymentError;
  /** Told how many items were refused for their form, and never came to the buffer. */
  readonly onFormFaults: (count: number) => void;
}

/** An item of a single door, with what became of it. */
export interface ItemResult {
  readonly itemId: string | null;
  readonly outcome: ItemOutcome;
}

/** What the synchronous doors do with the text of a body; knows no HTTP. All of them feed one buffer (contract 11). */
export class LedgerDoors {
  readonly #options: LedgerDoorsOptions;

  constructor(options: LedgerDoorsOptions) {
    this.#options = options;
  }

  /**
   * Reads a batch, admits its valid items together or none, and waits for every outcome.
   *
   * @returns the 207 body.
   * @throws PaymentError 400 or 413 where the envelope cannot be read, 429 where the batch does not fit whole.
   */
  async batch(text: string, caller: Caller): Promise<string> {
    const items = await this.#readBatch(text, caller);
    const outcomes = await this.#outcomesOf(items, caller);
    return this.#write({
      batchId: this.#options.newBatchId(),
      itemIds: items.map(({ itemId }) => itemId),
      outcomes,
    });
  }

  /** @throws PaymentError 400 where the text is no JSON, 429 where there is no room. */
  async entry(text: string, caller: Caller): Promise<ItemResult> {
    const item = readEntry(text, caller);
    const [outcome] = await this.#outcomesOf([item], caller);
    if (outcome === undefined) throw new Error('An item was left without an outcome');
    return { itemId: item.itemId, outcome };
  }

  async #readBatch(text: string, caller: Caller): Promise<readonly ReadItem[]> {
    const { turns, batchItemsMax } = this.#options;
    try {
      const reader = new BatchReader(text, caller, batchItemsMax);
      if (text.length <= CHARACTERS_AT_ONCE_MAX) reader.readOn(never);
      else await turns.run((enough) => reader.readOn(enough));
      if (reader.faults.length > 0) throw validationError(reader.faults);
      return reader.items;
    } catch (error) {
      throw error instanceof TooManyItemsError ? tooManyItems(batchItemsMax) : problemOf(error);
    }
  }

  /** Dense and in order: what is wrong in form has its outcome already, the others get theirs from the buffer. */
  async #outcomesOf(items: readonly ReadItem[], caller: Caller): Promise<readonly ItemOutcome[]> {
    const outcomes: ItemOutcome[] = new Array<ItemOutcome>(items.length);
    const admitted: LedgerItem[] = [];
    const places: number[] = [];
    items.forEach(({ item, fault }, index) => {
      if (fault !== null) {
        outcomes[index] = fault;
      } else if (item !== null) {
        admitted.push(item);
        places.push(index);
      }
    });
    if (admitted.length > 0) {
      await this.#admit(admitted, caller, (index, outcome) => {
        outcomes[places[index] as number] = outcome;
      });
    }
    const faults = items.length - admitted.length;
    if (faults > 0) this.#options.onFormFaults(faults);
    return outcomes;
  }

  #admit(
    items: readonly LedgerItem[],
    caller: Caller,
    onOutcome: (index: number, outcome: ItemOutcome) => void,
  ): Promise<void> {
    const { ingest, refuse } = this.#options;
    return new Promise((resolve, reject) => {
      let unanswered = items.length;
      const verdict = ingest.admit(items, caller.subject, (index, outcome) => {
        onOutcome(index, outcome);
        unanswered -= 1;
        if (unanswered === 0) resolve();
      });
      if (verdict !== 'admitted') reject(refuse(verdict));
    });
  }

  async #write(results: BatchResults): Promise<string> {
    const writer = new BatchResultsWriter(results);
    if (results.outcomes.length <= RESULTS_AT_ONCE_MAX) writer.writeOn(never);
    else await this.#options.turns.run((enough) => writer.writeOn(enough));
    return writer.toString();
  }
}

function never(): boolean {
  return false;
}

function readEntry(text: string, caller: Caller): ReadItem {
  try {
    // A byte order mark is no part of the text (RFC 8259, 8.1).
    const reader = new ItemReader(text, caller);
    const item = reader.read(skipSpace(text, text.startsWith('\ufeff') ? 1 : 0));
    if (skipSpace(text, reader.end) !== text.length) throw new NotJsonError();
    return item;
  } catch (error) {
    throw problemOf(error);
  }
}

function problemOf(error: unknown): unknown {
  return error instanceof NotJsonError ? new PaymentError(edgeProblems.malformedJson, 'The body is not JSON.') : error;
}

function tooManyItems(itemsMax: number): PaymentError {
  return new PaymentError(edgeProblems.payloadTooLarge, `A batch has ${itemsMax} items at most.`, {
    members: { limit_items: itemsMax },
  });
}
