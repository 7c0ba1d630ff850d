import type { LaneStore } from '../../../platform/database/statement';
import { KnownGenerations } from '../generations/known-generations';
import { bigints, booleans, byteStrings, lengthOfArray, texts, timestamps } from './array-parameters';
import type { Journal, PendingRow, Standing } from './journal';
import { insertEntries, lookUpKeys } from './journal.statements';
import { UnsendableRowError } from './write-failure';

const KEY_BYTES = 32;

interface InsertedRow {
  readonly entry_number: string;
  readonly key: string;
}

interface StandingRow {
  readonly key: string;
  readonly entry_number: string | null;
  readonly account_id: string;
  readonly is_sale: boolean;
  readonly amount_minor: string;
  readonly currency: string;
  readonly occurred_at_micros: string;
  readonly account: Standing['account'];
}

/** Turns of the generation that one flush can meet; at 16,000 items a second two minutes lie between two of them. */
const TURNS_MAX = 3;

/** The journal in `ledger_ds`: generations, exact by the unique index of the current one and by what sealed ones hold. */
export class JournalRepository implements Journal {
  readonly #store: Pick<LaneStore, 'query'>;
  readonly #generations: KnownGenerations;

  constructor(store: Pick<LaneStore, 'query'>, generations = new KnownGenerations(store)) {
    this.#store = store;
    this.#generations = generations;
  }

  async insert(rows: readonly PendingRow[], attempt: number): Promise<ReadonlyMap<string, string>> {
    const columns = insertColumns(rows);
    let generation = await this.#generations.current();
    for (let turns = 0; turns < TURNS_MAX; turns += 1) {
      const { keys, generations } = this.#generations.suspicionsOf(columns[0], rows.length);
      const values = [...columns, attempt, generation, keys, generations];
      const inserted = await this.#store.query<InsertedRow>(insertEntries, values);
      if (inserted.length > 0) return new Map(inserted.map(({ key, entry_number }) => [key, entry_number]));
      // Nothing was new, or the generation has turned.
      const current = await this.#generations.refresh();
      if (current === generation) break;
      generation = current;
    }
    return new Map();
  }

  async lookUp(rows: readonly PendingRow[]): Promise<ReadonlyMap<string, Standing>> {
    const columns = columnsOf(rows, () => [
      byteStrings(rows, KEY_BYTES, ({ item }) => item.idempotencyKey),
      texts(rows, ({ item }) => item.accountId),
      texts(rows, ({ item }) => item.currency),
    ]);
    const generation = await this.#generations.current();
    const { keys, generations } = this.#generations.suspicionsOf(columns[0], rows.length);
    const found = await this.#store.query<StandingRow>(lookUpKeys, [...columns, generation, keys, generations]);
    return new Map(found.map((row) => [row.key, standingOf(row)]));
  }
}

function insertColumns(rows: readonly PendingRow[]): Columns {
  return columnsOf(rows, () => [
    byteStrings(rows, KEY_BYTES, ({ item }) => item.idempotencyKey),
    texts(rows, ({ item }) => item.merchantId),
    texts(rows, ({ item }) => item.externalTransactionId),
    texts(rows, ({ item }) => item.accountId),
    booleans(rows, ({ item }) => item.type === 'SALE'),
    bigints(rows, ({ item }) => item.amountMinor),
    texts(rows, ({ item }) => item.currency),
    timestamps(rows, ({ item }) => item.occurredAtMicros),
  ]);
}

/** Keys come first. */
type Columns = readonly [Buffer, ...Buffer[]];

/** unnest pads arrays of unequal length with NULL in silence: the lengths are read back as the server will read them. */
function columnsOf(rows: readonly PendingRow[], encode: () => Columns): Columns {
  let columns: Columns;
  try {
    columns = encode();
  } catch (error) {
    throw new UnsendableRowError('A row cannot be encoded', { cause: error });
  }
  if (columns.some((column) => lengthOfArray(column) !== rows.length)) {
    throw new UnsendableRowError('Columns of unequal length');
  }
  return columns;
}

function standingOf(row: StandingRow): Standing {
  const stored =
    row.entry_number === null
      ? null
      : {
          entryNumber: row.entry_number,
          accountId: row.account_id,
          isSale: row.is_sale,
          amountMinor: row.amount_minor,
          currency: row.currency,
          occurredAtMicros: row.occurred_at_micros,
        };
  return { stored, account: row.account };
}
