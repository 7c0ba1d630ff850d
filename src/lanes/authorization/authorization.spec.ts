import { type AuthorizationSums, asFirstAnswered, remainingMinor, statusOf } from './authorization';

function sums(
  capturedMinor: number,
  reversedMinor: number,
  expiredMinor: number,
  refundedMinor = 0,
): AuthorizationSums {
  return { amountMinor: 100, capturedMinor, reversedMinor, expiredMinor, refundedMinor };
}

describe('the status of an authorization', () => {
  it.each([
    ['nothing moved', sums(0, 0, 0), 'APPROVED', 100],
    ['partly reversed', sums(0, 40, 0), 'APPROVED', 60],
    ['partly captured', sums(40, 0, 0), 'PARTIALLY_CAPTURED', 60],
    ['partly captured, partly reversed', sums(40, 59, 0), 'PARTIALLY_CAPTURED', 1],
    ['captured whole', sums(100, 0, 0), 'CAPTURED', 0],
    ['captured, the rest reversed', sums(40, 60, 0), 'CAPTURED', 0],
    ['captured, the rest expired', sums(40, 0, 60), 'CAPTURED', 0],
    ['captured and refunded', sums(100, 0, 0, 100), 'CAPTURED', 0],
    ['partly captured, all of that refunded', sums(40, 0, 0, 40), 'PARTIALLY_CAPTURED', 60],
    ['reversed whole', sums(0, 100, 0), 'REVERSED', 0],
    ['expired whole', sums(0, 0, 100), 'EXPIRED', 0],
    ['partly reversed, the rest expired', sums(0, 40, 60), 'EXPIRED', 0],
  ])('%s: %s', (_, state, status, remaining) => {
    expect(statusOf(state, '00')).toBe(status);
    expect(remainingMinor(state, '00')).toBe(remaining);
  });

  it('is DECLINED with nothing remaining for every code but 00', () => {
    for (const code of ['03', '14', '41', '51', '54', '57', '61', '62'] as const) {
      expect(statusOf(sums(0, 0, 0), code)).toBe('DECLINED');
      expect(remainingMinor(sums(0, 0, 0), code)).toBe(0);
    }
  });

  it('is the first one again in the first answer', () => {
    const captured = {
      ...sums(70, 0, 30, 10),
      rowId: '00000000-0000-7000-8000-000000000000',
      merchantId: 'mer_demo_0001',
      currency: 'USD',
      responseCode: '00' as const,
      createdAt: new Date(0),
      expiresAt: new Date(1),
    };
    expect(asFirstAnswered(captured)).toEqual({ ...captured, ...sums(0, 0, 0) });
  });
});
