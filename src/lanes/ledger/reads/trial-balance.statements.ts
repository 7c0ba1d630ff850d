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
SELECT r.through_id, s.account_no, s.debits_minor::text AS debits, s.credits_minor::text AS credits
FROM ledger_roll_up r LEFT JOIN ledger_account_sums s ON true`,
};

/** The generations, how many blocks they have, and whether sums are kept of all that is in them: 1 the id before which. */
export const generationsToSum: Statement = {
  name: 'ledger_generations_to_sum',
  text: `
SELECT g.generation,
  (pg_relation_size(format('ledger_journal_%s', g.generation)::regclass) / current_setting('block_size')::integer)::integer
    AS blocks,
  coalesce(g.end_id <= $1::bigint, false)
    AND EXISTS (SELECT FROM ledger_generation_sums s WHERE s.generation = g.generation) AS kept
FROM ledger_generations g ORDER BY g.generation`,
};

/** What was read of the rows of sealed generations: 1 which. */
export const sumsOfGenerations: Statement = {
  name: 'ledger_sums_of_generations',
  text: `
SELECT account_no, sum(debits_minor)::text AS debits, sum(credits_minor)::text AS credits
FROM ledger_generation_sums WHERE generation = ANY ($1::integer[]) GROUP BY account_no`,
};

/** The same from the rows of a part of a generation's table: 1 which, 2 and 3 its blocks, 4 the id before which. */
export const sumsOfRows: Statement = {
  name: 'ledger_sums_of_rows',
  text: `
SELECT debit_account_no, credit_account_no, sum(amount_minor)::text AS amount
FROM ledger_journal
WHERE generation = $1::integer AND ctid >= format('(%s,0)', $2::integer)::tid
  AND ctid < format('(%s,0)', $3::integer)::tid AND id < $4::bigint
GROUP BY debit_account_no, credit_account_no`,
};

export const trialBalanceStatements: readonly Statement[] = [
  totalsOfCurrencies,
  materialisedSums,
  generationsToSum,
  sumsOfGenerations,
  sumsOfRows,
];
