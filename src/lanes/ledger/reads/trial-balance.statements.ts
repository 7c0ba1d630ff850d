import type { Statement } from '../../../platform/database/statement';

/** Debits and credits of each currency: sums and tail of all accounts, in one snapshot. */
export const totalsOfCurrencies: Statement = {
  name: 'ledger_totals_of_currencies',
  text: `
SELECT currency, sum(debits_minor)::text AS debits, sum(credits_minor)::text AS credits
FROM ledger_account_totals GROUP BY currency HAVING sum(entries) > 0 ORDER BY currency`,
};

/** The materialised sums, and up to which id they go; in one snapshot. One row at least, without an account. */
export const materialisedSums: Statement = {
  name: 'ledger_materialised_sums',
  text: `
SELECT r.through_id, s.account_no, s.debits_minor::text AS debits, s.credits_minor::text AS credits,
  (pg_relation_size('ledger_journal') / current_setting('block_size')::integer)::integer AS blocks
FROM ledger_roll_up r LEFT JOIN ledger_account_sums s ON true`,
};

/** The same from the rows of a part of the table: 1 and 2 its blocks, 3 the id before which. */
export const sumsOfRows: Statement = {
  name: 'ledger_sums_of_rows',
  text: `
SELECT debit_account_no, credit_account_no, sum(amount_minor)::text AS amount
FROM ledger_journal
WHERE ctid >= format('(%s,0)', $1::integer)::tid AND ctid < format('(%s,0)', $2::integer)::tid AND id < $3::bigint
GROUP BY debit_account_no, credit_account_no`,
};

export const trialBalanceStatements: readonly Statement[] = [totalsOfCurrencies, materialisedSums, sumsOfRows];
