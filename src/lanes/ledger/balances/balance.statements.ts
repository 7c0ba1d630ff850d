import type { Statement } from '../../../platform/database/statement';

/**
 * Sums what has become final since the last time, per account: entries below the oldest transaction that is still under
 * way, all of which this statement's snapshot shows. One process at a time; whoever finds the mark locked does nothing.
 */
export const rollUp: Statement = {
  name: 'ledger_roll_up',
  text: `
WITH mark AS MATERIALIZED (
  SELECT through_id, through_generation FROM ledger_roll_up FOR UPDATE SKIP LOCKED
), horizon AS MATERIALIZED (
  SELECT h.id, (SELECT min(generation) FROM ledger_generations WHERE end_id IS NULL OR end_id > h.id) AS generation
  FROM (SELECT base + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 21) AS id FROM ledger_numbering) AS h
), pair AS MATERIALIZED (
  SELECT j.account_no, j.clearing_no, j.is_sale, sum(j.amount_minor) AS amount, count(*) AS entries
  FROM ledger_journal j
  WHERE j.generation >= (SELECT through_generation FROM mark)
    AND j.id >= (SELECT through_id FROM mark) AND j.id < (SELECT id FROM horizon)
  GROUP BY j.account_no, j.clearing_no, j.is_sale
), side AS (
  SELECT account_no, coalesce(sum(amount) FILTER (WHERE NOT is_sale), 0) AS debits,
    coalesce(sum(amount) FILTER (WHERE is_sale), 0) AS credits, sum(entries)::bigint AS entries
  FROM pair GROUP BY account_no
  UNION ALL
  SELECT clearing_no, coalesce(sum(amount) FILTER (WHERE is_sale), 0),
    coalesce(sum(amount) FILTER (WHERE NOT is_sale), 0), sum(entries)::bigint
  FROM pair GROUP BY clearing_no
), summed AS (
  INSERT INTO ledger_account_sums AS s (account_no, debits_minor, credits_minor, entries)
  SELECT account_no, debits, credits, entries FROM side ORDER BY account_no
  ON CONFLICT (account_no) DO UPDATE SET debits_minor = s.debits_minor + excluded.debits_minor,
    credits_minor = s.credits_minor + excluded.credits_minor, entries = s.entries + excluded.entries
), moved AS (
  UPDATE ledger_roll_up r SET through_id = horizon.id, through_generation = horizon.generation
  FROM horizon, mark
  WHERE horizon.id > r.through_id
  RETURNING r.through_id
)
SELECT (SELECT through_id FROM moved) AS through_id, coalesce(sum(entries), 0)::text AS entries FROM pair`,
};

/**
 * The plan of a statement without parameters is made once, perhaps while the journal is empty, and a scan of the whole is
 * then the cheapest; it would still be scanned whole with a billion rows.
 */
export const neverScanTheWhole: Statement = {
  name: 'ledger_never_scan_the_whole',
  text: `SELECT set_config('enable_seqscan', 'off', true)`,
};

export const balanceStatements: readonly Statement[] = [rollUp, neverScanTheWhole];
