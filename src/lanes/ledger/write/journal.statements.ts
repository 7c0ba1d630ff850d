import type { Statement } from '../../../platform/database/statement';

/**
 * Writes a flush in one statement and one transaction (contract 11). Parameters are arrays of equal length, one element a
 * row: 1 key, 2 merchant, 3 external transaction id, 4 account, 5 is it a sale, 6 amount, 7 currency, 8 instant; and the
 * number 9, the attempt; 10 the generation that is taken for the current one; and where else keys have to be looked for:
 * 11 key, 12 sealed generation. No two rows have one key.
 *
 * - Keys are inserted in their order: two statements with common keys then wait for each other in one direction only, and
 *   never deadlock.
 * - A row whose account is missing, closed or of another currency is left out; so is one whose key is there. Which of the
 *   two it was says the second statement, after the key.
 * - What comes back is mapped by key.
 * - Nothing is written where the generation is not the current one. Reading ledger_generations holds off its turn until the
 *   transaction ends, and is what the turn waits for (see its migration).
 * - What sealed generations hold never changes, so a key is in one of them or will never be. A subquery per suspicion stays
 *   an index look-up, of one generation, whatever the planner thinks of tables that were empty.
 */
export const insertEntries: Statement = {
  name: 'ledger_insert_entries',
  text: `
INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
  idempotency_key, currency, merchant_id, external_transaction_id, generation)
SELECT (SELECT base + (pg_current_xact_id()::text::bigint << 21) + ($9::bigint << 9) FROM ledger_numbering) + i.place,
  i.amount_minor, i.occurred_at, now(), a.account_no, a.clearing_no, i.is_sale,
  i.idempotency_key, i.currency, i.merchant_id, i.external_transaction_id, $10::integer
FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::text[],
    $8::timestamptz[]) WITH ORDINALITY
  AS i (idempotency_key, merchant_id, external_transaction_id, account_id, is_sale, amount_minor, currency, occurred_at,
    place)
JOIN ledger_accounts a ON a.account_id = i.account_id
WHERE a.status = 'OPEN' AND a.currency = i.currency AND a.clearing_no IS NOT NULL
  AND EXISTS (SELECT FROM ledger_generations WHERE generation = $10::integer AND end_id IS NULL)
  AND i.idempotency_key <> ALL (ARRAY(
    SELECT s.idempotency_key FROM unnest($11::bytea[], $12::integer[]) AS s (idempotency_key, generation)
    WHERE (SELECT true FROM ledger_journal e
      WHERE e.idempotency_key = s.idempotency_key AND e.generation = s.generation LIMIT 1)))
ORDER BY i.idempotency_key
ON CONFLICT (idempotency_key, generation) DO NOTHING
RETURNING id AS entry_number, encode(idempotency_key, 'hex') AS key`,
};

const STORED = `e.id, e.account_no, e.is_sale, e.amount_minor, e.currency,
    (extract(epoch FROM e.occurred_at) * 1000000)::bigint AS occurred_at_micros`;

/**
 * What stands under keys, and what holds of the accounts named beside them, one row a key: 1 keys, 2 account ids,
 * 3 currencies; 4 the generation from which on all are looked into, and older ones to look into: 5 key, 6 generation.
 * A subquery per key stays an index look-up on a table that was empty when the plan was made.
 */
export const lookUpKeys: Statement = {
  name: 'ledger_look_up_keys',
  text: `
WITH found AS MATERIALIZED (
  SELECT s.idempotency_key, e.* FROM unnest($5::bytea[], $6::integer[]) AS s (idempotency_key, generation)
  CROSS JOIN LATERAL (
    SELECT ${STORED}
    FROM ledger_journal e WHERE e.idempotency_key = s.idempotency_key AND e.generation = s.generation LIMIT 1
  ) AS e
)
SELECT encode(q.idempotency_key, 'hex') AS key, j.id AS entry_number, stored.account_id, j.is_sale, j.amount_minor,
  j.currency, j.occurred_at_micros,
  CASE
    WHEN a.account_no IS NULL OR a.clearing_no IS NULL THEN 'missing'
    WHEN a.status = 'CLOSED' THEN 'closed'
    WHEN a.currency <> q.currency THEN 'other_currency'
    ELSE 'open'
  END AS account
FROM unnest($1::bytea[], $2::text[], $3::text[]) AS q (idempotency_key, account_id, currency)
LEFT JOIN LATERAL (
  (SELECT ${STORED}
   FROM ledger_journal e WHERE e.idempotency_key = q.idempotency_key AND e.generation >= $4::integer LIMIT 1)
  UNION ALL
  (SELECT f.id, f.account_no, f.is_sale, f.amount_minor, f.currency, f.occurred_at_micros
   FROM found f WHERE f.idempotency_key = q.idempotency_key)
  LIMIT 1
) AS j ON true
LEFT JOIN ledger_accounts stored ON stored.account_no = j.account_no
LEFT JOIN ledger_accounts a ON a.account_id = q.account_id`,
};

export const journalStatements: readonly Statement[] = [insertEntries, lookUpKeys];
