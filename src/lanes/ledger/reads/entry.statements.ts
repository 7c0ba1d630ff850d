import type { Statement } from '../../../platform/database/statement';

const INSTANT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

const COLUMNS = `j.id, j.merchant_id, j.external_transaction_id, a.account_id, c.account_id AS clearing_account_id,
  j.is_sale, j.amount_minor, j.currency,
  to_char(j.occurred_at AT TIME ZONE 'UTC', ${INSTANT}) AS occurred_at,
  to_char(j.recorded_at AT TIME ZONE 'UTC', ${INSTANT}) AS recorded_at`;

/**
 * An account's entries in the order of their ids: 1 account, 2 the id after which, 3 how many. An id is made of its
 * transaction's number (see the journal's migration): below that of the oldest one still running every entry there will
 * ever be is visible in this statement's own snapshot, and `settled` says so.
 */
export const entriesOfAccount: Statement = {
  name: 'ledger_entries_of_account',
  text: `
SELECT ${COLUMNS},
  j.id < (SELECT base + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 21) FROM ledger_numbering) AS settled
FROM ledger_accounts a
JOIN ledger_accounts c ON c.account_no = a.clearing_no
CROSS JOIN LATERAL (
  SELECT * FROM ledger_journal e
  WHERE e.generation >= (SELECT min(generation) FROM ledger_generations WHERE end_id IS NULL OR end_id > $2::bigint)
    AND e.account_no = a.account_no AND e.id > $2::bigint
  ORDER BY e.id LIMIT $3::integer
) AS j
WHERE a.account_id = $1::text
ORDER BY j.id`,
};

/** The one entry of a merchant's transaction: 1 its idempotency key. */
export const entryOfKey: Statement = {
  name: 'ledger_entry_of_key',
  text: `
SELECT ${COLUMNS}, true AS settled
FROM ledger_journal j
JOIN ledger_accounts a ON a.account_no = j.account_no
JOIN ledger_accounts c ON c.account_no = j.clearing_no
WHERE j.idempotency_key = $1::bytea`,
};

export const entryStatements: readonly Statement[] = [entriesOfAccount, entryOfKey];
