import type { Statement } from '../../../platform/database/statement';

/**
 * Takes what remains of authorizations past their `expires_at`, the oldest first, and gives it back to their cards: one
 * statement, one transaction; 1 the most at a time.
 *
 * `due` is found by the partial index that holds only what can still expire. Cards are locked before authorizations, as
 * everywhere; with more than one of them a locked one is passed over, so that two sweeps, or a sweep and a group, never
 * wait for each other. The conditions stand in `taken` again: they are judged there on the rows as locked, and
 * whatever was captured, reversed or expired since is no longer due.
 */
function expireDue(name: string, skipLocked: string): Statement {
  const remains = `response_code = '00' AND captured_minor + reversed_minor + expired_minor < amount_minor`;
  return {
    name,
    text: `
WITH due AS MATERIALIZED (
  SELECT id, card_id FROM authorizations
  WHERE ${remains} AND expires_at <= now()
  ORDER BY expires_at LIMIT $1::integer
), card AS MATERIALIZED (
  SELECT cards.id, cards.held_minor FROM cards WHERE cards.id = ANY (ARRAY(SELECT card_id FROM due))
  FOR NO KEY UPDATE${skipLocked}
), taken AS MATERIALIZED (
  SELECT a.id, card.id AS card_id, card.held_minor, a.amount_minor - a.captured_minor - a.reversed_minor - a.expired_minor AS left_minor
  FROM due JOIN card ON card.id = due.card_id JOIN authorizations a ON a.id = due.id
  WHERE ${remains} AND a.expires_at <= now()
  FOR NO KEY UPDATE OF a${skipLocked}
), expired AS (
  UPDATE authorizations a SET expired_minor = a.expired_minor + taken.left_minor FROM taken WHERE a.id = taken.id
), freed AS (
  UPDATE cards SET held_minor = sums.held_minor - sums.left_minor
  FROM (
    SELECT card_id, held_minor, sum(left_minor)::bigint AS left_minor FROM taken GROUP BY card_id, held_minor
  ) AS sums
  WHERE cards.id = sums.card_id
  RETURNING 1 / (old.held_minor = sums.held_minor)::integer
)
SELECT (SELECT count(*)::integer FROM due) AS found, (SELECT count(*)::integer FROM taken) AS expired`,
  };
}

export const expireDueSkippingLocks: Statement = expireDue('authorization_expire_due', ' SKIP LOCKED');
/** For one at a time: waits for its card as long as lock_timeout, so that a card that is always busy expires too. */
export const expireDueWaiting: Statement = expireDue('authorization_expire_due_waiting', '');

export const expiryStatements: readonly Statement[] = [expireDueSkippingLocks, expireDueWaiting];
