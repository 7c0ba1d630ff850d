import type { Statement } from '../../../platform/database/statement';

/**
 * Takes unpublished rows for a while, the oldest first: 1 the most at a time, 2 for how many milliseconds. Other relays
 * leave them alone until then; rows that another one is just taking are passed over.
 */
export const leaseOutbox: Statement = {
  name: 'authorization_outbox_lease',
  text: `
WITH leased AS (
  UPDATE outbox SET leased_until = now() + $2::integer * interval '1 millisecond', attempts = outbox.attempts + 1
  WHERE event_id = ANY (ARRAY(
    SELECT event_id FROM outbox
    WHERE published_at IS NULL AND (leased_until IS NULL OR leased_until < now())
    ORDER BY occurred_at
    LIMIT $1::integer
    FOR NO KEY UPDATE SKIP LOCKED
  ))
  RETURNING event_id, type, merchant_id, account_id, amount_minor, currency, occurred_at
)
SELECT * FROM leased ORDER BY occurred_at`,
};

/** 1 event ids that the queue has taken. */
export const markPublished: Statement = {
  name: 'authorization_outbox_mark',
  text: `
UPDATE outbox SET published_at = now(), leased_until = NULL
WHERE event_id = ANY ($1::uuid[]) AND published_at IS NULL`,
};

/** Gives rows back that the queue did not take, so that the next try need not wait for the lease. 1 event ids. */
export const releaseOutbox: Statement = {
  name: 'authorization_outbox_release',
  text: `UPDATE outbox SET leased_until = NULL WHERE event_id = ANY ($1::uuid[]) AND published_at IS NULL`,
};

/** Age in milliseconds of the oldest row that is not published; no row where all are. */
export const oldestUnpublished: Statement = {
  name: 'authorization_outbox_oldest',
  text: `
SELECT (extract(epoch FROM now() - occurred_at) * 1000)::float8 AS age_ms
FROM outbox WHERE published_at IS NULL ORDER BY occurred_at LIMIT 1`,
};

/** Removes rows published long ago: 1 hours, 2 the most at a time. */
export const purgePublished: Statement = {
  name: 'authorization_outbox_purge',
  text: `
WITH purged AS (
  DELETE FROM outbox WHERE event_id = ANY (ARRAY(
    SELECT event_id FROM outbox
    WHERE published_at IS NOT NULL AND published_at < now() - $1::integer * interval '1 hour'
    ORDER BY published_at
    LIMIT $2::integer
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::integer AS purged FROM purged`,
};

export const outboxStatements: readonly Statement[] = [
  leaseOutbox,
  markPublished,
  releaseOutbox,
  oldestUnpublished,
  purgePublished,
];
