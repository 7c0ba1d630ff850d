import type { Statement } from '../../platform/database/statement';

/**
 * Places a group of authorizations in one statement and one transaction (contract 9). Parameters are arrays of equal
 * length, one element per member, sorted by scope hash: 1 scope hash, 2 payload hash, 3 row id, 4 caller, 5 merchant,
 * 6 card token, 7 amount, 8 currency. No two members have the same card or the same scope hash.
 *
 * How it keeps its promises:
 * - `locked` takes each card that nobody has, and skips the others: a member waits for its own card only, in a later
 *   group. A locked row is read as it is now, not as the snapshot shows it, so open-to-buy is never judged on old money.
 * - `held` writes the sum that follows from the card as it was locked, and fails (division by zero) where the row that it
 *   replaces holds another one. `held_minor + amount` would be no guard but a fault: PostgreSQL computes it on the
 *   snapshot's row first, and checks `cards_never_overspent` on that, before it finds that a reversal has since freed the
 *   money.
 * - `claimed` inserts the keys in order of the hash, the only place where the statement can wait (for a key that another
 *   process has not committed), so that two groups with common keys never deadlock. Its RETURNING drives all the rest:
 *   a key that is taken changes nothing.
 * - Older generations of keys are probed by a subquery per member, which stays an index look-up even on a table that
 *   was empty when the plan was made; as a join it would be planned as a scan of all keys.
 * - Members are answered by their row id, never by position.
 *
 * Outcomes: `placed`; `card_locked`: nothing was tried; `key_taken`: see {@link findByKeys}, also where the card is locked,
 * since a stored answer needs no card.
 */
export const placeAuthorizations: Statement = {
  name: 'authorization_place',
  text: `
WITH member AS MATERIALIZED (
  SELECT scope_hash, payload_hash, id, caller, merchant_id, card_token, amount_minor, currency
  FROM unnest($1::bytea[], $2::bytea[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
    AS m (scope_hash, payload_hash, id, caller, merchant_id, card_token, amount_minor, currency)
), current AS MATERIALIZED (
  SELECT generation FROM idempotency_generations WHERE sealed_at IS NULL
), known AS MATERIALIZED (
  SELECT token FROM cards WHERE token = ANY ($6::text[])
), locked AS MATERIALIZED (
  SELECT id, token, currency, limit_minor, transaction_limit_minor, held_minor, status, expires_on
  FROM cards WHERE token = ANY ($6::text[])
  FOR NO KEY UPDATE SKIP LOCKED
), tried AS MATERIALIZED (
  SELECT m.scope_hash, m.payload_hash, m.id, m.caller, m.merchant_id, m.amount_minor, m.currency, l.id AS card_id,
    l.held_minor,
    CASE
      WHEN NOT EXISTS (SELECT FROM merchants WHERE merchants.id = m.merchant_id OFFSET 0) THEN '03'
      WHEN l.id IS NULL THEN '14'
      WHEN l.status = 'LOST' THEN '41'
      WHEN l.status = 'BLOCKED' THEN '62'
      WHEN l.expires_on < (now() AT TIME ZONE 'UTC')::date THEN '54'
      WHEN l.currency <> m.currency THEN '57'
      WHEN m.amount_minor > l.transaction_limit_minor THEN '61'
      WHEN m.amount_minor > l.limit_minor - l.held_minor THEN '51'
      ELSE '00'
    END AS response_code
  FROM member m
  LEFT JOIN known k ON k.token = m.card_token
  LEFT JOIN locked l ON l.token = m.card_token
  WHERE l.id IS NOT NULL OR k.token IS NULL
), claimed AS (
  INSERT INTO idempotency_keys (scope_hash, generation, payload_hash, resource_id, created_at)
  SELECT t.scope_hash, current.generation, t.payload_hash, t.id, now()
  FROM tried t CROSS JOIN current
  WHERE (
    SELECT k.resource_id FROM idempotency_keys k
    WHERE k.scope_hash = t.scope_hash AND k.generation < current.generation
      AND k.created_at > now() - interval '7 days'
    LIMIT 1
  ) IS NULL
  ORDER BY t.scope_hash
  ON CONFLICT (scope_hash, generation) DO NOTHING
  RETURNING resource_id AS id
), judged AS MATERIALIZED (
  SELECT t.* FROM claimed JOIN tried t USING (id)
), held AS (
  UPDATE cards SET held_minor = j.held_minor + j.amount_minor
  FROM judged j
  WHERE cards.id = j.card_id AND j.response_code = '00'
  RETURNING 1 / (old.held_minor = j.held_minor)::integer
), placed AS (
  INSERT INTO authorizations
    (id, merchant_id, card_id, caller, amount_minor, currency, response_code, created_at, expires_at)
  SELECT id, merchant_id, card_id, caller, amount_minor, currency, response_code, now(), now() + interval '7 days'
  FROM judged
  RETURNING id, response_code, created_at, expires_at
)
SELECT m.id, p.response_code, p.created_at, p.expires_at,
  CASE
    WHEN p.id IS NOT NULL THEN 'placed'
    WHEN t.id IS NOT NULL THEN 'key_taken'
    WHEN EXISTS (
      SELECT FROM idempotency_keys k
      WHERE k.scope_hash = m.scope_hash AND k.created_at > now() - interval '7 days'
      OFFSET 0
    ) THEN 'key_taken'
    ELSE 'card_locked'
  END AS outcome
FROM member m LEFT JOIN tried t USING (id) LEFT JOIN placed p USING (id)`,
};

/**
 * What expiry has taken of an authorization `a`. `expires_at` decides (contract 9): from then on all that remained is
 * expired, whether the sweep has been there already or not, so that no caller reads of money that nobody can capture.
 */
export const expiredNow = `CASE
    WHEN a.response_code = '00' AND a.expires_at <= now() THEN a.amount_minor - a.captured_minor - a.reversed_minor
    ELSE a.expired_minor
  END`;

const authorizationColumns = `a.id, a.merchant_id, a.amount_minor, a.captured_minor, a.reversed_minor,
  ${expiredNow} AS expired_minor, a.refunded_minor, a.currency, a.response_code, a.created_at, a.expires_at`;

/**
 * What stands under keys, one row for each that is taken: 1 scope hashes. A subquery per key for the same reason as
 * above; the newest generation wins, since a key that is free again after 7 days may stand in two. Age is not asked: a
 * key that the current generation still holds is taken, however late its turn to be sealed comes.
 */
export const findByKeys: Statement = {
  name: 'authorization_find_by_keys',
  text: `
SELECT q.scope_hash, k.payload_hash, ${authorizationColumns}
FROM unnest($1::bytea[]) AS q (scope_hash)
CROSS JOIN LATERAL (
  SELECT payload_hash, resource_id FROM idempotency_keys i
  WHERE i.scope_hash = q.scope_hash
  ORDER BY i.generation DESC
  LIMIT 1
) AS k
CROSS JOIN LATERAL (SELECT * FROM authorizations a WHERE a.id = k.resource_id LIMIT 1) AS a`,
};

export const findById: Statement = {
  name: 'authorization_find_by_id',
  text: `SELECT ${authorizationColumns} FROM authorizations a WHERE a.id = $1::uuid`,
};

/** For the rest of the transaction: 1 the longest wait for a lock, such as `10ms`. */
export const limitLockWait: Statement = {
  name: 'authorization_limit_lock_wait',
  text: `SELECT set_config('lock_timeout', $1::text, true)`,
};

/**
 * Tries to take a key, 1 scope hash, in a transaction that is rolled back: it is blocked while another process holds
 * the key uncommitted, which is the only way to see that.
 */
export const tryKey: Statement = {
  name: 'authorization_try_key',
  text: `
INSERT INTO idempotency_keys (scope_hash, generation, payload_hash, resource_id, created_at)
SELECT $1::bytea, generation, $1::bytea, '00000000-0000-0000-0000-000000000000', now()
FROM idempotency_generations WHERE sealed_at IS NULL
ON CONFLICT (scope_hash, generation) DO NOTHING`,
};

/** Turns to the next generation of keys if the current one is old enough, 1 interval; the new number or null. */
export const rollGeneration: Statement = {
  name: 'authorization_roll_generation',
  text: `SELECT roll_idempotency_generation($1::interval) AS generation`,
};

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
export const authorizationStatements: readonly Statement[] = [placeAuthorizations, findByKeys, findById];
