import type { LaneStore } from '../../../platform/database/statement';
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

/** The journal in `ledger_ds`: one table, exact by the unique index on its key. */
export class JournalRepository implements Journal {
  constructor(private readonly store: Pick<LaneStore, 'query'>) {}

  async insert(rows: readonly PendingRow[], attempt: number): Promise<ReadonlyMap<string, string>> {
    const inserted = await this.store.query<InsertedRow>(insertEntries, [...insertColumns(rows), attempt]);
    const numbers = new Map<string, string>();
    for (const row of inserted) numbers.set(row.key, row.entry_number);
    return numbers;
  }

  async lookUp(rows: readonly PendingRow[]): Promise<ReadonlyMap<string, Standing>> {
    const found = await this.store.query<StandingRow>(
      lookUpKeys,
      columnsOf(rows, () => [
        byteStrings(rows, KEY_BYTES, ({ item }) => item.idempotencyKey),
        texts(rows, ({ item }) => item.accountId),
        texts(rows, ({ item }) => item.currency),
      ]),
    );
    return new Map(found.map((row) => [row.key, standingOf(row)]));
  }
}

function insertColumns(rows: readonly PendingRow[]): readonly Buffer[] {
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

/** unnest pads arrays of unequal length with NULL in silence: the lengths are read back as the server will read them. */
function columnsOf(rows: readonly PendingRow[], encode: () => readonly Buffer[]): readonly Buffer[] {
  let columns: readonly Buffer[];
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
