import type { Statement } from '../../platform/database/statement';
import { ATTEMPTS_READ_MAX } from './rules/facts';

/**
 * The newest row of an evaluation `id`: generations are searched newest first, each by its unique key. A result is known,
 * and its key taken, until its generation is dropped: 7 days at least, and half as long again at most.
 */
const storedColumns = 'caller, merchant_id, payload_hash, score, decision, reasons';
const newestOf = (id: string): string =>
  `SELECT ${storedColumns} FROM evaluations WHERE id = ${id} ORDER BY generation DESC LIMIT 1`;

/**
 * All that an evaluation needs to know, in one round trip: 1 row id, 2 fingerprint, 3 merchant, 4 country, 5 currency,
 * 6 the payment's moment. One row.
 *
 * The history of a card is one range of the index `attempts_of_card`, read backwards from the payment's moment through
 * the partitions and no further than the newest ${ATTEMPTS_READ_MAX} attempts: whatever 100 million rows hold, this is what
 * is read. The planner knows how many attempts a usual card has, and would read and sort them all; a busy card has many
 * times as many. A LIMIT that it cannot look into (the subquery) makes it plan for a tenth of the rows, hence take
 * partitions and rows in their order and stop.
 */
export const readFacts: Statement = {
  name: 'fraud_read_facts',
  text: `
WITH card AS MATERIALIZED (
  SELECT id, version, first_seen_at FROM cards WHERE fingerprint = $2::bytea
)
SELECT stored.*, card.id AS card_id, card.version AS card_version, card.first_seen_at,
  coalesce((SELECT risk FROM merchant_risks WHERE merchant_risks.merchant_id = $3::text), 'UNKNOWN') AS merchant_risk,
  coalesce((SELECT risk FROM country_risks WHERE country_risks.country = $4::text), 'UNKNOWN') AS country_risk,
  history.*
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (${newestOf('$1::uuid')}) AS stored ON true
LEFT JOIN card ON true
CROSS JOIN LATERAL (
  SELECT
    count(*) FILTER (WHERE occurred_at > $6::timestamptz - interval '5 minutes')::integer AS attempts_5m,
    count(*) FILTER (WHERE occurred_at > $6::timestamptz - interval '1 hour')::integer AS attempts_1h,
    count(*) FILTER (WHERE occurred_at > $6::timestamptz - interval '24 hours')::integer AS attempts_24h,
    count(*) FILTER (
      WHERE decision = 'DECLINE' AND occurred_at > $6::timestamptz - interval '24 hours'
    )::integer AS declines_24h,
    count(DISTINCT merchant_id) FILTER (
      WHERE merchant_id <> $3::text AND occurred_at > $6::timestamptz - interval '1 hour'
    )::integer AS merchants_1h,
    count(DISTINCT country) FILTER (
      WHERE country <> $4::text AND occurred_at > $6::timestamptz - interval '24 hours'
    )::integer AS countries_24h,
    count(*) FILTER (WHERE country = $4::text)::integer AS here,
    count(*) FILTER (WHERE currency = $5::text AND decision <> 'DECLINE')::integer AS samples,
    avg(amount_minor) FILTER (WHERE currency = $5::text AND decision <> 'DECLINE')::double precision AS usual_minor
  FROM (
    SELECT occurred_at, amount_minor, currency, country, merchant_id, decision FROM attempts
    WHERE card_id = card.id
      AND occurred_at > $6::timestamptz - interval '90 days' AND occurred_at <= $6::timestamptz
    ORDER BY occurred_at DESC
    LIMIT (SELECT ${ATTEMPTS_READ_MAX})
  ) AS newest
) AS history`,
};

/**
 * Stores a result, its attempt and the card in one statement and one transaction (contract 8): 1 row id, 2 caller,
 * 3 payload hash, 4 fingerprint, 5 card id or null, 6 the card's version as the facts were read, 7 the payment's moment,
 * 8 amount, 9 currency, 10 country, 11 merchant, 12 score, 13 decision, 14 reasons, 15 hash of the rules.
 *
 * How it keeps its promises:
 * - `card` is the card as the facts were read, or nothing: another evaluation of the card that was stored since has
 *   raised its version. An UPDATE that had to wait for that one sees the row as it is now, not as the snapshot shows it.
 *   So evaluations of one card stand in a row, and a burst of them cannot pass its velocity rules side by side.
 * - `claimed` inserts the result under the id that is its idempotency key. Only the card's row and this key are waited
 *   for, in this order, so statements never wait for each other in a circle.
 * - Its RETURNING drives the attempt: a key that is taken leaves none behind.
 *
 * One row of two flags. `card_kept` false: the facts are out of date. `stored` false while it is true: the key is taken.
 */
export const storeEvaluation: Statement = {
  name: 'fraud_store_evaluation',
  text: `
WITH current AS MATERIALIZED (
  SELECT generation FROM evaluation_generations WHERE sealed_at IS NULL
), known AS (
  UPDATE cards SET version = $6::bigint + 1, first_seen_at = least(first_seen_at, $7::timestamptz)
  WHERE id = $5::bigint AND version = $6::bigint
  RETURNING id
), added AS (
  INSERT INTO cards (fingerprint, first_seen_at, version)
  SELECT $4::bytea, $7::timestamptz, 1 WHERE $5::bigint IS NULL
  ON CONFLICT (fingerprint) DO NOTHING
  RETURNING id
), card AS (
  SELECT id FROM known UNION ALL SELECT id FROM added
), claimed AS (
  INSERT INTO evaluations
    (generation, id, caller, merchant_id, payload_hash, score, decision, reasons, rules_hash, created_at)
  SELECT current.generation, $1::uuid, $2::text, $11::text, $3::bytea, $12::smallint, $13::text, $14::json, $15::bytea,
    now()
  FROM card CROSS JOIN current
  WHERE NOT EXISTS (
    SELECT FROM evaluations e WHERE e.id = $1::uuid AND e.generation < current.generation OFFSET 0
  )
  ON CONFLICT (id, generation) DO NOTHING
  RETURNING id
), noted AS (
  INSERT INTO attempts
    (card_id, occurred_at, amount_minor, currency, country, merchant_id, decision, evaluation_id)
  SELECT card.id, $7::timestamptz, $8::bigint, $9::text, $10::text, $11::text, $13::text, claimed.id
  FROM card CROSS JOIN claimed
)
SELECT EXISTS (SELECT FROM card) AS card_kept, EXISTS (SELECT FROM claimed) AS stored`,
};

/** Takes a card, 1 fingerprint, for the rest of the transaction. A statement after it sees all that was stored before. */
export const lockCard: Statement = {
  name: 'fraud_lock_card',
  text: `SELECT FROM cards WHERE fingerprint = $1::bytea FOR NO KEY UPDATE`,
};

export const findEvaluation: Statement = { name: 'fraud_find_evaluation', text: newestOf('$1::uuid') };

/** Turns to the next generation of results if the current one is old enough, 1 interval; the new number or null. */
export const rollGeneration: Statement = {
  name: 'fraud_roll_generation',
  text: `SELECT roll_evaluation_generation($1::interval) AS generation`,
};

/** Makes the weeks of history that are due and drops the spent ones; how many, or null for none. */
export const rollAttempts: Statement = { name: 'fraud_roll_attempts', text: `SELECT roll_attempts() AS weeks` };

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
export const fraudStatements: readonly Statement[] = [readFacts, storeEvaluation, lockCard, findEvaluation];
