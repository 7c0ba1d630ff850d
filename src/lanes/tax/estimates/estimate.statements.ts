import type { Statement } from '../../../platform/database/statement';

/**
 * Writes estimates that were served, as arrays of equal length sorted by scope hash, so that two processes with common
 * keys do not deadlock: 1 ids, 2 scope hashes, 3 callers, 4 currencies, 5 jurisdictions, 6 requests, 7 estimates, 8 taxes,
 * 9 instants. A caller's key that has its row already keeps it. `written` are new rows; `lost` are estimates of another
 * order under a key that has its row, which no row will ever say more of.
 */
export const insertEstimates: Statement = {
  name: 'tax_insert_estimates',
  text: `
WITH served AS MATERIALIZED (
  SELECT *
  FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
    $9::timestamptz[])
    AS e (id, scope_hash, caller, currency, jurisdiction, request, estimate, tax_minor, served_at)
), written AS (
  INSERT INTO estimates (id, scope_hash, caller, currency, jurisdiction, request, estimate, tax_minor, served_at)
  SELECT id, scope_hash, caller, currency, jurisdiction, request::jsonb, estimate::jsonb, tax_minor, served_at FROM served
  ON CONFLICT DO NOTHING
  RETURNING id, scope_hash
), standing AS (
  SELECT id, scope_hash FROM written
  UNION ALL
  SELECT id, scope_hash FROM estimates WHERE scope_hash = ANY($2::bytea[])
)
SELECT
  (SELECT count(*) FROM written)::integer AS written,
  (
    SELECT count(*) FROM served JOIN standing USING (scope_hash) WHERE standing.id <> served.id
  )::integer AS lost`,
};

const estimateColumns = `id, estimate, status, provider_figures, difference_minor, settled_at`;

/** An estimate of a caller: 1 id, 2 caller. */
export const findEstimate: Statement = {
  name: 'tax_find_estimate',
  text: `SELECT ${estimateColumns} FROM estimates WHERE id = $1::text AND caller = $2::text`,
};

/**
 * Takes the estimate that has waited longest: 1 the lease in milliseconds. Until then no other process takes it, and if
 * this one is killed another will. What others have locked is passed over.
 */
export const takeDueEstimate: Statement = {
  name: 'tax_take_due_estimate',
  text: `
UPDATE estimates SET attempts = attempts + 1, due_at = now() + $1::integer * interval '1 ms'
WHERE id = (
  SELECT id FROM estimates WHERE status = 'PENDING' AND due_at <= now()
  ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING id, request, tax_minor, jurisdiction, attempts`,
};

/** The provider has answered: 1 id, 2 its figures, 3 its tax. */
export const settleEstimate: Statement = {
  name: 'tax_settle_estimate',
  text: `
UPDATE estimates
SET status = 'RECONCILED', provider_figures = $2::jsonb, provider_tax_minor = $3::bigint, settled_at = now(), failure = NULL
WHERE id = $1::text AND status = 'PENDING'
RETURNING id`,
};

/** The provider has not answered: 1 id, 2 why, 3 milliseconds until the next try, 4 whether this one counts. */
export const postponeEstimate: Statement = {
  name: 'tax_postpone_estimate',
  text: `
UPDATE estimates
SET failure = $2::text, due_at = now() + $3::integer * interval '1 ms', attempts = attempts - ($4::boolean IS FALSE)::integer
WHERE id = $1::text AND status = 'PENDING'`,
};

/** The provider will not answer: 1 id, 2 why. */
export const failEstimate: Statement = {
  name: 'tax_fail_estimate',
  text: `
UPDATE estimates SET status = 'FAILED', failure = $2::text, settled_at = now()
WHERE id = $1::text AND status = 'PENDING'`,
};

/** Removes old estimates: 1 the days that they are kept, 2 the most at a time. */
export const purgeEstimates: Statement = {
  name: 'tax_purge_estimates',
  text: `
DELETE FROM estimates WHERE id IN (
  SELECT id FROM estimates WHERE served_at < now() - $1::integer * interval '1 day'
  ORDER BY served_at LIMIT $2::integer
)
RETURNING id`,
};

/** What reconciliation has found, by jurisdiction and currency; sums are text, since they can pass 2^53. */
export const reportReconciliation: Statement = {
  name: 'tax_report_reconciliation',
  text: `
SELECT jurisdiction, currency,
  count(*)::integer AS estimates,
  (count(*) FILTER (WHERE status = 'PENDING'))::integer AS pending,
  (count(*) FILTER (WHERE status = 'FAILED'))::integer AS failed,
  (count(*) FILTER (WHERE status = 'RECONCILED'))::integer AS reconciled,
  (count(*) FILTER (WHERE difference_minor <> 0))::integer AS different,
  coalesce(sum(tax_minor) FILTER (WHERE status = 'RECONCILED'), 0)::text AS estimated_minor,
  coalesce(sum(provider_tax_minor), 0)::text AS provider_minor,
  coalesce(sum(difference_minor), 0)::text AS difference_minor,
  coalesce(max(abs(difference_minor)), 0)::text AS difference_minor_max
FROM estimates GROUP BY jurisdiction, currency ORDER BY jurisdiction, currency`,
};

export const estimateStatements: readonly Statement[] = [insertEstimates, findEstimate, takeDueEstimate];
