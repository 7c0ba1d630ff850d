import { failedWith } from '../item-failures';
import type { ItemOutcome, LedgerItem } from '../ledger';

/** One row on its way into the journal; no two rows that are on their way have the same key. */
export interface PendingRow {
  readonly item: LedgerItem;
  /** Somebody still waits for the outcome. */
  readonly wanted: boolean;
  /** A statement with this row is out, or was lost without an answer: what became of it is not known. */
  inDoubt: boolean;
  /** Once, with what is true of the journal. */
  settle(outcome: ItemOutcome): void;
}

/** The end of rows that will not be tried again: what is in doubt stays in doubt, the rest is not written. */
export function giveUp(rows: readonly PendingRow[]): void {
  for (const row of rows) row.settle(failedWith(row.inDoubt ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_STORE_UNAVAILABLE'));
}

/** Those of the rows that somebody waits for; the others are given up, so that nobody joins a row that goes nowhere. */
export function stillWanted(rows: readonly PendingRow[]): readonly PendingRow[] {
  const unwanted = rows.filter((row) => !row.wanted);
  if (unwanted.length === 0) return rows;
  giveUp(unwanted);
  return rows.filter((row) => row.wanted);
}

/** An entry as it stands in the journal. */
export interface StoredEntry {
  readonly entryNumber: string;
  readonly accountId: string;
  readonly isSale: boolean;
  readonly amountMinor: string;
  readonly currency: string;
  readonly occurredAtMicros: string;
}

/** What holds of a key and of the account that the item names, in one snapshot. */
export interface Standing {
  readonly stored: StoredEntry | null;
  readonly account: 'open' | 'missing' | 'closed' | 'other_currency';
}

/** The journal as the flushes see it. What stands behind it (partitions, filters) is nobody else's business. */
export interface Journal {
  /**
   * Writes in one statement, which is one transaction, what has a new key and an account to book to.
   *
   * @param attempt 0 … 4,095, kept with each entry: see {@link wroteIt}.
   * @returns entry numbers by key; of a key that is missing nothing is known.
   */
  insert(rows: readonly PendingRow[], attempt: number): Promise<ReadonlyMap<string, string>>;
  /** What stands under the rows' keys, by key; another statement, so that it sees what a racing one has committed. */
  lookUp(rows: readonly PendingRow[]): Promise<ReadonlyMap<string, Standing>>;
}

/** Numbers of the attempt that an entry keeps: one in so many foreign ones is taken for our own, after a loss only. */
export const ATTEMPTS = 4_096;

const ATTEMPT_SHIFT = 9n;

/** Whether an entry was written by this attempt: asked after a lost connection, to know our own entry again. */
export function wroteIt(entryNumber: string, attempt: number): boolean {
  return ((BigInt(entryNumber) >> ATTEMPT_SHIFT) & BigInt(ATTEMPTS - 1)) === BigInt(attempt);
}

export function entryIdOf(entryNumber: string): string {
  return `ent_${entryNumber}`;
}
