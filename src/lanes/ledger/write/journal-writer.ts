import { failedWith } from '../item-failures';
import type { ItemOutcome, LedgerItem } from '../ledger';
import { entryIdOf, type Journal, type PendingRow, type Standing, type StoredEntry, wroteIt } from './journal';
import { writeFailureOf } from './write-failure';

/** A statement that is about to go to the database: its holder may count, time and limit it. */
export type StatementGate = <T>(statement: () => Promise<T>) => Promise<T>;

/** Brings rows into the journal once, and settles all of whom the journal's own word is known. */
export class JournalWriter {
  constructor(
    private readonly journal: Journal,
    private readonly gate: StatementGate,
  ) {}

  /**
   * Writes and looks up. Nothing is assumed of a row that did not come back: it is looked up by its key, and what the
   * journal says of the key goes before what the account says (contract 11).
   *
   * The look-up is a transaction of its own. In one transaction with the insert it would say the same: under READ
   * COMMITTED each statement takes its own snapshot, and what the insert wrote is settled by what it returned.
   *
   * @returns rows of which nothing is known yet: their account was opened, or their key given back, between the two
   *   statements; or they were in doubt and their account is at fault. To be written again.
   * @throws the driver's error; rows that are still in doubt say so.
   */
  async write(rows: readonly PendingRow[], attempt: number): Promise<readonly PendingRow[]> {
    const doubted = new Set(rows.filter((row) => row.inDoubt));
    const numbers = await this.#insert(rows, doubted, attempt);
    const missing: PendingRow[] = [];
    for (const row of rows) {
      const entryNumber = numbers.get(row.item.idempotencyKey);
      if (entryNumber === undefined) missing.push(row);
      else row.settle({ status: 'COMMITTED', entryId: entryIdOf(entryNumber), duplicate: false });
    }
    return missing.length === 0 ? missing : this.#settleFromJournal(missing, doubted, attempt);
  }

  async #insert(
    rows: readonly PendingRow[],
    doubted: ReadonlySet<PendingRow>,
    attempt: number,
  ): Promise<ReadonlyMap<string, string>> {
    for (const row of rows) row.inDoubt = true;
    try {
      const numbers = await this.gate(() => this.journal.insert(rows, attempt));
      for (const row of rows) row.inDoubt = doubted.has(row);
      return numbers;
    } catch (error) {
      // Only a lost answer leaves doubt; whatever the server undid, or never got, is as it was before.
      if (writeFailureOf(error) !== 'in_doubt') for (const row of rows) row.inDoubt = doubted.has(row);
      throw error;
    }
  }

  async #settleFromJournal(
    rows: readonly PendingRow[],
    doubted: ReadonlySet<PendingRow>,
    attempt: number,
  ): Promise<readonly PendingRow[]> {
    const standings = await this.gate(() => this.journal.lookUp(rows));
    return rows.filter((row) => {
      const standing = standings.get(row.item.idempotencyKey);
      const outcome = standing === undefined ? null : outcomeOf(row.item, standing, doubted.has(row) ? attempt : null);
      if (outcome === null) return true;
      // Where the account is at fault the second writing has not met the key, and so has not waited for the first one,
      // which may be under way in the server yet: that the key is not there is no word on what will become of it.
      if (outcome.status === 'FAILED' && standing?.stored === null && doubted.has(row)) return true;
      row.settle(outcome);
      return false;
    });
  }
}

/** @param lostAttempt the attempt of ours that may have been committed unheard; null for none. */
function outcomeOf(item: LedgerItem, { stored, account }: Standing, lostAttempt: number | null): ItemOutcome | null {
  if (stored !== null) {
    if (!isSamePayload(item, stored)) return failedWith('ERR_IDEMPOTENCY_CONFLICT');
    const own = lostAttempt !== null && wroteIt(stored.entryNumber, lostAttempt);
    return { status: 'COMMITTED', entryId: entryIdOf(stored.entryNumber), duplicate: !own };
  }
  switch (account) {
    case 'missing':
      return failedWith('ERR_INVALID_ACCOUNT_ID');
    case 'closed':
      return failedWith('ERR_ACCOUNT_CLOSED');
    case 'other_currency':
      return failedWith('ERR_CURRENCY_MISMATCH');
    case 'open':
      return null;
    default: {
      const never: never = account;
      throw new Error(`Unknown state of an account: ${String(never)}`);
    }
  }
}

function isSamePayload(item: LedgerItem, stored: StoredEntry): boolean {
  return (
    item.accountId === stored.accountId &&
    (item.type === 'SALE') === stored.isSale &&
    item.currency === stored.currency &&
    String(item.amountMinor) === stored.amountMinor &&
    String(item.occurredAtMicros) === stored.occurredAtMicros
  );
}
