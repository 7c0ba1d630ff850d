import type { AuthorizationStatus } from '../authorization';

/** Everything that can happen to an authorization after it was decided (contract 9). */
export const MOVES = ['capture', 'reverse', 'refund', 'expire'] as const;
export type Move = (typeof MOVES)[number];

export const AUTHORIZATION_STATUSES = [
  'APPROVED',
  'DECLINED',
  'PARTIALLY_CAPTURED',
  'CAPTURED',
  'REVERSED',
  'EXPIRED',
] as const satisfies readonly AuthorizationStatus[];

/** The sum that an allowed move may take up to; where nothing is left of it, the move is `ERR_INVALID_STATE` too. */
export type MoveBound = 'remaining' | 'unrefunded';
export type MoveRule = { readonly takesFrom: MoveBound } | 'ERR_INVALID_STATE';

const fromRemaining = { takesFrom: 'remaining' } as const;
const fromUnrefunded = { takesFrom: 'unrefunded' } as const;
const never = 'ERR_INVALID_STATE';

/**
 * Contract 9's state table: what each state says to each move. The statements are made of it, and the tests read it.
 * Capture, reversal and expiry need something remaining; a refund needs something captured and not refunded, and
 * changes no state. An authorization past its `expires_at` counts as expired here, whether or not its row says so yet.
 */
export const moveTable = {
  APPROVED: { capture: fromRemaining, reverse: fromRemaining, refund: never, expire: fromRemaining },
  DECLINED: { capture: never, reverse: never, refund: never, expire: never },
  PARTIALLY_CAPTURED: {
    capture: fromRemaining,
    reverse: fromRemaining,
    refund: fromUnrefunded,
    expire: fromRemaining,
  },
  CAPTURED: { capture: never, reverse: never, refund: fromUnrefunded, expire: never },
  REVERSED: { capture: never, reverse: never, refund: never, expire: never },
  EXPIRED: { capture: never, reverse: never, refund: never, expire: never },
} as const satisfies Record<AuthorizationStatus, Record<Move, MoveRule>>;

type MoveTable = Readonly<Record<string, Readonly<Record<string, MoveRule>>>>;

/** What each move takes from wherever it is allowed: one sum, or the statement that is made of it would lie. */
const BOUND_OF = {
  capture: 'remaining',
  reverse: 'remaining',
  refund: 'unrefunded',
  expire: 'remaining',
} as const satisfies Record<Move, MoveBound>;

/**
 * The compiler sees to completeness where the table is written; this sees to it where it is used, at boot.
 *
 * @throws Error naming every cell that is missing, unknown, or at odds with what the move takes.
 */
export function checkMoveTable(table: MoveTable = moveTable): void {
  const faults: string[] = [];
  const states = new Set([...AUTHORIZATION_STATUSES, ...Object.keys(table)]);
  for (const state of states) {
    const row = table[state];
    if (row === undefined || !AUTHORIZATION_STATUSES.includes(state as AuthorizationStatus)) {
      faults.push(`${state}: ${row === undefined ? 'no row' : 'not a state'}`);
      continue;
    }
    for (const move of new Set([...MOVES, ...Object.keys(row)])) {
      const rule = row[move];
      if (rule === undefined || !MOVES.includes(move as Move)) {
        faults.push(`${state} × ${move}: ${rule === undefined ? 'no rule' : 'not a move'}`);
      } else if (rule !== 'ERR_INVALID_STATE' && rule.takesFrom !== BOUND_OF[move as Move]) {
        faults.push(`${state} × ${move}: takes from ${rule.takesFrom}`);
      }
    }
  }
  if (faults.length > 0) throw new Error(`The table of moves is not complete: ${faults.join('; ')}`);
}

/** The states in which a move is allowed as long as something is left for it. */
export function statesThatAllow(move: Move): readonly AuthorizationStatus[] {
  return AUTHORIZATION_STATUSES.filter((status) => moveTable[status][move] !== 'ERR_INVALID_STATE');
}
