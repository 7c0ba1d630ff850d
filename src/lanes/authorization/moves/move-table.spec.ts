import { type AuthorizationSums, remainingMinor, statusOf } from '../authorization';
import { AUTHORIZATION_STATUSES, checkMoveTable, type Move, MOVES, moveTable, statesThatAllow } from './move-table';

describe('the state table', () => {
  it('is complete: every state says something to every move', () => {
    expect(() => checkMoveTable()).not.toThrow();
    expect(Object.keys(moveTable).sort()).toEqual([...AUTHORIZATION_STATUSES].sort());
    for (const status of AUTHORIZATION_STATUSES)
      expect(Object.keys(moveTable[status]).sort()).toEqual([...MOVES].sort());
  });

  it.each<[string, Record<string, Record<string, unknown>>, string]>([
    ['a state without a row', { EXPIRED: undefined as never }, 'EXPIRED: no row'],
    ['a row of no state', { SETTLED: moveTable.CAPTURED }, 'SETTLED: not a state'],
    [
      'a cell that is missing',
      { REVERSED: { ...moveTable.REVERSED, refund: undefined } },
      'REVERSED × refund: no rule',
    ],
    [
      'a move that is none',
      { REVERSED: { ...moveTable.REVERSED, settle: 'ERR_INVALID_STATE' } },
      '× settle: not a move',
    ],
    [
      'a move that takes from the wrong sum',
      { CAPTURED: { ...moveTable.CAPTURED, refund: { takesFrom: 'remaining' } } },
      'CAPTURED × refund: takes from remaining',
    ],
  ])('is refused at boot with %s', (_, changes, fault) => {
    const table = { ...moveTable, ...changes } as unknown as Parameters<typeof checkMoveTable>[0];
    expect(() => checkMoveTable(table)).toThrow(fault);
  });

  it('says what follows from the sums: the bound of an allowed move can be above zero, that of the others never is', () => {
    const left: Record<Move, (sums: AuthorizationSums, code: '00' | '51') => number> = {
      capture: remainingMinor,
      reverse: remainingMinor,
      expire: remainingMinor,
      refund: ({ capturedMinor, refundedMinor }) => capturedMinor - refundedMinor,
    };
    const seen = new Map<string, number>();
    for (const sums of smallSums()) {
      for (const code of sums.capturedMinor + sums.reversedMinor + sums.expiredMinor > 0
        ? (['00'] as const)
        : (['00', '51'] as const)) {
        const status = statusOf(sums, code);
        for (const move of MOVES) {
          const cell = `${status} × ${move}`;
          seen.set(cell, Math.max(seen.get(cell) ?? 0, left[move](sums, code)));
        }
      }
    }
    expect(seen.size).toBe(AUTHORIZATION_STATUSES.length * MOVES.length);
    for (const status of AUTHORIZATION_STATUSES) {
      for (const move of MOVES) {
        expect([status, move, (seen.get(`${status} × ${move}`) ?? 0) > 0]).toEqual([
          status,
          move,
          statesThatAllow(move).includes(status),
        ]);
      }
    }
  });
});

function* smallSums(): Generator<AuthorizationSums> {
  for (let amountMinor = 1; amountMinor <= 3; amountMinor += 1) {
    for (let capturedMinor = 0; capturedMinor <= amountMinor; capturedMinor += 1) {
      for (let reversedMinor = 0; capturedMinor + reversedMinor <= amountMinor; reversedMinor += 1) {
        const taken = capturedMinor + reversedMinor;
        for (let expiredMinor = 0; taken + expiredMinor <= amountMinor; expiredMinor += 1) {
          for (let refundedMinor = 0; refundedMinor <= capturedMinor; refundedMinor += 1) {
            yield { amountMinor, capturedMinor, reversedMinor, expiredMinor, refundedMinor };
          }
        }
      }
    }
  }
}
