import type { Statement } from '../../../platform/database/statement';
import { expiredNow } from '../authorization.statements';
import { type MoveKind, MOVE_KINDS } from './move';
import { type Move, statesThatAllow } from './move-table';

interface MoveShape {
  readonly move: Move;
  readonly table: 'captures' | 'reversals' | 'refunds';
  /** The column of the authorization that the move adds to. */
  readonly sum: 'captured_minor' | 'reversed_minor' | 'refunded_minor';
  /** Whether it gives money back to the card. A capture does not: what was held remaining is held captured after it. */
  readonly frees: boolean;
  /** What the ledger is told of it; null: nothing. */
  readonly event: 'SALE' | 'REFUND' | null;
}

const shapes = {
  capture: { move: 'capture', table: 'captures', sum: 'captured_minor', frees: false, event: 'SALE' },
  reversal: { move: 'reverse', table: 'reversals', sum: 'reversed_minor', frees: true, event: null },
  refund: { move: 'refund', table: 'refunds', sum: 'refunded_minor', frees: true, event: 'REFUND' },
} as const satisfies Record<MoveKind, MoveShape>;

/** {@link statusOf} once more, where it must be judged: under the lock. The tests compare the two on every small sum. */
export const statusSql = `CASE
      WHEN response_code <> '00' THEN 'DECLINED'
      WHEN captured_minor > 0 AND captured_minor + reversed_minor + expired_minor < amount_minor
        THEN 'PARTIALLY_CAPTURED'
      WHEN captured_minor > 0 THEN 'CAPTURED'
      WHEN captured_minor + reversed_minor + expired_minor < amount_minor THEN 'APPROVED'
      WHEN expired_minor > 0 THEN 'EXPIRED'
      ELSE 'REVERSED'
    END`;

function list(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ');
}

/** Finds what the move is about, by what never changes of it, and locks it: the card first, if it is to be freed. */
function lockSql(kind: MoveKind, skipLocked: string): string {
  const { frees } = shapes[kind];
  const [source, column] =
    kind === 'refund'
      ? ['captures t JOIN authorizations a ON a.id = t.authorization_id', 't']
      : ['authorizations a', 'a'];
  return `target AS MATERIALIZED (
  SELECT a.id, a.card_id FROM ${source}
  WHERE ${column}.id = $5::uuid AND ($7::text[] IS NULL OR a.merchant_id = ANY ($7::text[]))
), ${
    frees
      ? `card AS MATERIALIZED (
  SELECT cards.id, cards.held_minor FROM target JOIN cards ON cards.id = target.card_id
  FOR NO KEY UPDATE OF cards${skipLocked}
), `
      : ''
  }locked AS MATERIALIZED (
  SELECT a.id, a.merchant_id, a.card_id, a.amount_minor, a.currency, a.response_code, a.created_at, a.expires_at,
    a.captured_minor, a.reversed_minor, a.refunded_minor, a.expired_minor AS expired_before_minor,
    ${expiredNow} AS expired_minor${frees ? ', card.held_minor' : ''}
  FROM target ${frees ? 'LEFT JOIN card ON card.id = target.card_id ' : ''}JOIN authorizations a ON a.id = target.id
  ${frees ? 'WHERE card.id IS NOT NULL OR target.card_id IS NULL\n  ' : ''}FOR NO KEY UPDATE OF a${skipLocked}
)${
    kind === 'refund'
      ? `, capture AS MATERIALIZED (
  SELECT c.id, c.amount_minor - c.refunded_minor AS unrefunded_minor
  FROM locked JOIN captures c ON c.authorization_id = locked.id
  WHERE c.id = $5::uuid
  FOR NO KEY UPDATE OF c
)`
      : ''
  }`;
}

function judgeSql(kind: MoveKind): string {
  const { move, event } = shapes[kind];
  const left =
    kind === 'refund'
      ? '(SELECT unrefunded_minor FROM capture)'
      : 'amount_minor - captured_minor - reversed_minor - expired_minor';
  const account = `(SELECT account_id FROM merchant_settlement_accounts s
       WHERE s.merchant_id = locked.merchant_id AND s.currency = locked.currency)`;
  return `state AS MATERIALIZED (
  SELECT locked.*, ${statusSql} AS status, ${left} AS left_minor${event === null ? '' : `, ${account} AS account_id`}
  FROM locked
), judged AS MATERIALIZED (
  SELECT state.*, coalesce($6::bigint, left_minor) AS moved_minor,
    CASE
      WHEN status NOT IN (${list(statesThatAllow(move))}) OR left_minor <= 0 THEN 'invalid_state'
      WHEN $6::bigint > left_minor THEN 'exceeds'
      ${event === null ? '' : `WHEN account_id IS NULL THEN 'no_settlement_account'`}
      ELSE 'moved'
    END AS verdict
  FROM state
)`;
}

const claimSql = `claimed AS (
  INSERT INTO idempotency_keys (scope_hash, generation, payload_hash, resource_id, created_at)
  SELECT $1::bytea, current.generation, $2::bytea, $3::uuid, now()
  FROM judged CROSS JOIN current
  WHERE judged.verdict = 'moved' AND (
    SELECT k.resource_id FROM idempotency_keys k
    WHERE k.scope_hash = $1::bytea AND k.generation < current.generation AND k.created_at > now() - interval '7 days'
    LIMIT 1
  ) IS NULL
  ON CONFLICT (scope_hash, generation) DO NOTHING
  RETURNING resource_id AS id
), made AS MATERIALIZED (
  SELECT judged.* FROM claimed CROSS JOIN judged
)`;

/** The effect, driven by the key's RETURNING. What expiry is due is taken along, since the row is locked anyway. */
function effectSql(kind: MoveKind): string {
  const { table, sum, frees, event } = shapes[kind];
  const target = kind === 'refund' ? 'capture_id' : 'authorization_id';
  const after = (column: string): string => (column === sum ? `${column} + moved_minor` : column);
  const sums = ['captured_minor', 'reversed_minor', 'expired_minor', 'refunded_minor'];
  return `moved AS (
  UPDATE authorizations a SET ${sum} = a.${sum} + made.moved_minor${frees ? ', expired_minor = made.expired_minor' : ''}
  FROM made WHERE a.id = made.id
), ${
    frees
      ? `freed AS (
  UPDATE cards SET held_minor = made.held_minor - made.moved_minor - (made.expired_minor - made.expired_before_minor)
  FROM made WHERE cards.id = made.card_id
  RETURNING 1 / (old.held_minor = made.held_minor)::integer
), `
      : ''
  }${
    kind === 'refund'
      ? `refunded AS (
  UPDATE captures c SET refunded_minor = c.refunded_minor + made.moved_minor FROM made WHERE c.id = $5::uuid
), `
      : ''
  }${
    event === null
      ? ''
      : `announced AS (
  INSERT INTO outbox (event_id, type, merchant_id, account_id, amount_minor, currency, occurred_at)
  SELECT $3::uuid, '${event}', merchant_id, account_id, moved_minor, currency, now() FROM made
), `
  }written AS (
  INSERT INTO ${table} (id, ${target}, caller, amount_minor, created_at, ${sums.map((column) => `${column}_after`).join(', ')})
  SELECT $3::uuid, $5::uuid, $4::text, moved_minor, now(), ${sums.map(after).join(', ')}
  FROM made
  RETURNING amount_minor AS moved_minor, created_at AS moved_at,
    ${sums.map((column) => `${column}_after`).join(', ')}
)`;
}

/**
 * One move in one statement and one transaction (contract 9). Parameters: 1 scope hash, 2 payload hash, 3 the move's row
 * id, 4 caller, 5 the authorization's row id (a refund: the capture's), 6 amount or null for all that is left, 7 the
 * merchants that the caller may act for, null for all.
 *
 * How it keeps its promises:
 * - Locks are taken in the order card, authorization, capture, everywhere in the lane; whoever has more than one card
 *   (groups, the sweep) skips the locked ones. A locked row is read as it is now, not as the snapshot shows it.
 * - The card's sum is written as it follows from the locked row, and compared with the row that it replaces, for the
 *   reason that {@link placeAuthorizations} gives.
 * - A capture needs no card: the sum that the card holds does not change. A hot card never holds one up.
 * - The key is claimed behind those locks, which the twins of a key have in common, so that nobody waits for a key while
 *   holding what its owner needs.
 * - A verdict other than `moved` claims no key and changes nothing. It may stem from what a twin has just done: callers
 *   of this look the key up before they believe it.
 *
 * No row: there is no such target. `locked`: somebody else has the card or the authorization.
 */
function moveStatement(kind: MoveKind, waits: boolean): Statement {
  const sums = ['captured_minor', 'reversed_minor', 'expired_minor', 'refunded_minor'];
  return {
    name: `authorization_${kind}${waits ? '_waiting' : ''}`,
    text: `
WITH current AS MATERIALIZED (
  SELECT generation FROM idempotency_generations WHERE sealed_at IS NULL
), ${lockSql(kind, waits ? '' : ' SKIP LOCKED')}, ${judgeSql(kind)}, ${claimSql}, ${effectSql(kind)}
SELECT judged.id, judged.merchant_id, judged.amount_minor, judged.currency, judged.response_code, judged.created_at,
  judged.expires_at, judged.left_minor, written.moved_minor, written.moved_at,
  ${sums.map((column) => `written.${column}_after AS ${column}`).join(', ')},
  CASE
    WHEN written.moved_at IS NOT NULL THEN 'moved'
    WHEN judged.verdict = 'moved' THEN 'key_taken'
    WHEN judged.verdict IS NOT NULL THEN judged.verdict
    ELSE 'locked'
  END AS outcome${kind === 'refund' ? ', $5::uuid AS capture_id' : ''}
FROM target LEFT JOIN judged ON true LEFT JOIN written ON true`,
  };
}

type ByKind = Readonly<Record<MoveKind, Statement>>;

function forAll(make: (kind: MoveKind) => Statement): ByKind {
  return Object.fromEntries(MOVE_KINDS.map((kind) => [kind, make(kind)])) as Record<MoveKind, Statement>;
}

/** Passes over a locked card or authorization at once: the way of nearly every move. */
export const moveSkippingLocks: ByKind = forAll((kind) => moveStatement(kind, false));
/** Waits for them, for lock_timeout at most. */
export const moveWaitingForLocks: ByKind = forAll((kind) => moveStatement(kind, true));

/** What stands under a move's key, 1 scope hash: its row, and the authorization as it was right after it. */
export const findStoredMove: ByKind = forAll((kind) => {
  const { table } = shapes[kind];
  const join =
    kind === 'refund'
      ? 'captures c ON c.id = m.capture_id JOIN authorizations a ON a.id = c.authorization_id'
      : 'authorizations a ON a.id = m.authorization_id';
  return {
    name: `authorization_find_stored_${kind}`,
    text: `
SELECT k.payload_hash, m.id AS move_id, m.amount_minor AS moved_minor, m.created_at AS moved_at,
  a.id, a.merchant_id, a.amount_minor, a.currency, a.response_code, a.created_at, a.expires_at,
  m.captured_minor_after AS captured_minor, m.reversed_minor_after AS reversed_minor,
  m.expired_minor_after AS expired_minor, m.refunded_minor_after AS refunded_minor
  ${kind === 'refund' ? ', m.capture_id' : ''}
FROM (
  SELECT payload_hash, resource_id FROM idempotency_keys WHERE scope_hash = $1::bytea
  ORDER BY generation DESC LIMIT 1
) AS k
JOIN ${table} m ON m.id = k.resource_id JOIN ${join}`,
  };
});

/** A capture as it is now, 1 its row id. */
export const findCapture: Statement = {
  name: 'authorization_find_capture',
  text: `
SELECT c.id AS capture_id, c.amount_minor AS moved_minor, c.refunded_minor AS capture_refunded_minor,
  c.created_at AS moved_at, a.id, a.merchant_id, a.amount_minor, a.captured_minor, a.reversed_minor,
  ${expiredNow} AS expired_minor, a.refunded_minor, a.currency, a.response_code, a.created_at, a.expires_at
FROM captures c JOIN authorizations a ON a.id = c.authorization_id
WHERE c.id = $1::uuid`,
};

export const moveStatements: readonly Statement[] = [
  ...Object.values(moveSkippingLocks),
  ...Object.values(moveWaitingForLocks),
  ...Object.values(findStoredMove),
  findCapture,
];
