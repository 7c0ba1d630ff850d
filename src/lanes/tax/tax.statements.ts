import type { Statement } from '../../platform/database/statement';

/**
 * Looks a key up and, where nothing stands under it, claims it for a call of the provider: 1 scope hash, 2 payload hash,
 * 3 owner of the claim, 4 lease in milliseconds. A claim whose lease has run out belongs to a process that was killed, and
 * is taken over. Everything that the partitions still hold counts as stored: at least 7 days.
 *
 * Outcomes: `stored`, with the answer; `claimed`; `held`, by another process, with its payload hash. What another process
 * stores between this statement's snapshot and its claim is found when this one's answer is stored.
 */
export const openQuote: Statement = {
  name: 'tax_open_quote',
  text: `
WITH stored AS MATERIALIZED (
  SELECT id, payload_hash, figures FROM quotes WHERE scope_hash = $1::bytea ORDER BY generation DESC LIMIT 1
), claimed AS (
  INSERT INTO quote_claims AS c (scope_hash, payload_hash, owner, leased_until)
  SELECT $1::bytea, $2::bytea, $3::uuid, clock_timestamp() + $4::integer * interval '1 ms'
  WHERE NOT EXISTS (SELECT FROM stored)
  ON CONFLICT (scope_hash) DO UPDATE
    SET payload_hash = excluded.payload_hash, owner = excluded.owner, leased_until = excluded.leased_until
    WHERE c.leased_until < clock_timestamp()
  RETURNING owner
)
SELECT
  CASE
    WHEN EXISTS (SELECT FROM stored) THEN 'stored'
    WHEN EXISTS (SELECT FROM claimed) THEN 'claimed'
    ELSE 'held'
  END AS outcome,
  (SELECT id FROM stored) AS id,
  (SELECT figures FROM stored) AS figures,
  coalesce(
    (SELECT payload_hash FROM stored),
    (SELECT payload_hash FROM quote_claims WHERE scope_hash = $1::bytea)
  ) AS payload_hash`,
};

/**
 * Stores a quote and gives up the claim on its key, in one transaction: 1 scope hash, 2 payload hash, 3 id, 4 caller,
 * 5 currency, 6 figures, 7 owner. No row where the key is taken by now: the answer that stands there is the one.
 */
export const storeQuote: Statement = {
  name: 'tax_store_quote',
  text: `
WITH current AS MATERIALIZED (
  SELECT generation FROM quote_generations WHERE sealed_at IS NULL
), released AS (
  DELETE FROM quote_claims WHERE scope_hash = $1::bytea AND owner = $7::uuid
)
INSERT INTO quotes (scope_hash, generation, payload_hash, id, caller, currency, figures, created_at)
SELECT $1::bytea, current.generation, $2::bytea, $3::text, $4::text, $5::text, $6::jsonb, now()
FROM current
WHERE NOT EXISTS (
  SELECT FROM quotes q WHERE q.scope_hash = $1::bytea AND q.generation < current.generation
)
ON CONFLICT (scope_hash, generation) DO NOTHING
RETURNING id`,
};

/** What stands under a key, 1 scope hash. */
export const findQuoteByKey: Statement = {
  name: 'tax_find_quote_by_key',
  text: `SELECT id, payload_hash, figures FROM quotes WHERE scope_hash = $1::bytea ORDER BY generation DESC LIMIT 1`,
};

/** Gives up the claim on a key that no answer was found for: 1 scope hash, 2 owner. */
export const releaseClaim: Statement = {
  name: 'tax_release_claim',
  text: `DELETE FROM quote_claims WHERE scope_hash = $1::bytea AND owner = $2::uuid`,
};

/** A quote or an estimate of a caller: 1 id, 2 caller. */
export const findQuote: Statement = {
  name: 'tax_find_quote',
  text: `SELECT id, figures FROM quotes WHERE id = $1::text AND caller = $2::text LIMIT 1`,
};

/** Turns to the next generation of quotes if the current one is old enough, 1 interval; the new number or null. */
export const rollQuoteGeneration: Statement = {
  name: 'tax_roll_quote_generation',
  text: `SELECT roll_quote_generation($1::interval) AS generation`,
};

/** Claims whose process has long been gone; a live one is an hour away from this. */
export const purgeClaims: Statement = {
  name: 'tax_purge_claims',
  text: `DELETE FROM quote_claims WHERE leased_until < now() - interval '1 hour'`,
};

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
export const quoteStatements: readonly Statement[] = [openQuote, storeQuote, findQuoteByKey, releaseClaim, findQuote];
