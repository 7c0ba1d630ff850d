import { amountMinorFromText } from '../../../shared/money';
import type { StatementRunner } from '../../../platform/database/statement';
import type { EntryType } from '../ledger';
import { entriesOfAccount, entryOfKey } from './entry.statements';

/** An entry of the journal, as it is read. */
export interface Entry {
  /** A bigint's digits; the number behind `ent_`. */
  readonly id: string;
  readonly merchantId: string;
  readonly externalTransactionId: string;
  readonly accountId: string;
  readonly clearingAccountId: string;
  readonly type: EntryType;
  readonly amountMinor: number;
  readonly currency: string;
  /** RFC 3339 in UTC, to the microsecond. */
  readonly occurredAt: string;
  readonly recordedAt: string;
  /** No entry with a smaller id can still come. */
  readonly settled: boolean;
}

interface EntryRow {
  readonly id: string;
  readonly merchant_id: string;
  readonly external_transaction_id: string;
  readonly account_id: string;
  readonly clearing_account_id: string;
  readonly is_sale: boolean;
  readonly amount_minor: string;
  readonly currency: string;
  readonly occurred_at: string;
  readonly recorded_at: string;
  readonly settled: boolean;
}

export class EntryRepository {
  constructor(private readonly store: StatementRunner) {}

  /** In the order of their ids, those that are not settled yet included. */
  async ofAccount(accountId: string, afterId: bigint, count: number): Promise<readonly Entry[]> {
    return (await this.store.query<EntryRow>(entriesOfAccount, [accountId, String(afterId), count])).map(entryOf);
  }

  /** @param idempotencyKey 64 hex digits. */
  async ofKey(idempotencyKey: string): Promise<Entry | null> {
    const [row] = await this.store.query<EntryRow>(entryOfKey, [Buffer.from(idempotencyKey, 'hex')]);
    return row === undefined ? null : entryOf(row);
  }
}

function entryOf(row: EntryRow): Entry {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    externalTransactionId: row.external_transaction_id,
    accountId: row.account_id,
    clearingAccountId: row.clearing_account_id,
    type: row.is_sale ? 'SALE' : 'REFUND',
    amountMinor: amountMinorFromText(row.amount_minor),
    currency: row.currency,
    occurredAt: row.occurred_at,
    recordedAt: row.recorded_at,
    settled: row.settled,
  };
}
