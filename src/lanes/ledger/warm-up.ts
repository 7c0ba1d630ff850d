import type { Caller } from '../../ingress/caller';
import { failedWith } from './item-failures';
import { BatchResultsWriter } from './doors/batch-results';
import { BatchReader } from './items/batch-reader';
import type { ItemOutcome, LedgerItem } from './ledger';
import type { Journal, PendingRow } from './write/journal';

/** With 12 connections 100 batches: every connection has its plans then, and what is hot is compiled. Half a second's work. */
const ROUNDS = 8;
const ROWS = 350;
/** Longer than an account's name may be: nothing of a warm-up can ever be written. */
const NO_ACCOUNT = 'x'.repeat(65);
const CALLER: Caller = { subject: 'warm-up', scopes: new Set(['ledger']), merchants: '*' };

/**
 * Reads, writes and answers batches of which nothing reaches the journal, before the lane is ready: the first second of a
 * process is ten times slower than those that follow.
 *
 * @param writers statements at a time, so that each connection comes to know them.
 */
export async function warmUp(journal: Journal, writers: number): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const items = readItems(`${round}-${writer}`);
        const rows = items.map(
          (item) => ({ item: { ...item, accountId: NO_ACCOUNT }, ...unsettled }) satisfies PendingRow,
        );
        await journal.insert(rows, 0);
        await journal.lookUp(rows);
        writeResults(rows);
      }),
    );
  }
}

const unsettled = { wanted: true, inDoubt: false, settle: () => undefined };

function readItems(name: string): LedgerItem[] {
  const items = Array.from({ length: ROWS }, (_, n) => ({
    item_id: `${name}-${n}`,
    merchant_id: 'warm-up',
    external_transaction_id: `${name}-${n}`,
    account_id: 'none',
    type: n % 2 === 0 ? 'SALE' : 'REFUND',
    amount_minor: n + 1,
    currency: 'USD',
    occurred_at: '2026-01-01T00:00:00.000Z',
  }));
  const reader = new BatchReader(JSON.stringify({ items }), CALLER, ROWS);
  reader.readOn(() => false);
  return reader.items.flatMap(({ item }) => (item === null ? [] : [item]));
}

function writeResults(rows: readonly PendingRow[]): void {
  const outcomes = rows.map((_row, n): ItemOutcome =>
    n % 50 === 0
      ? failedWith('ERR_INVALID_ACCOUNT_ID')
      : { status: 'COMMITTED', entryId: `ent_${n}`, duplicate: false },
  );
  const writer = new BatchResultsWriter({ batchId: 'btc_warm_up', itemIds: rows.map((_row, n) => `${n}`), outcomes });
  writer.writeOn(() => false);
  writer.toString();
}
