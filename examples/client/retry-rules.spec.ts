import { toProblem } from './problem';
import { judge, waitMs } from './retry-rules';

const retry = (after_seconds: number, jitter_seconds: number): unknown => ({
  code: 'ERR_CARD_BUSY',
  retry: { after_seconds, max_attempts: 3, jitter_seconds },
});

describe('judge', () => {
  it.each([
    [200, '', 'done'],
    [202, '', 'done'],
    [299, '', 'done'],
    [301, '', 'refused'],
    [400, '', 'refused'],
    [409, 'ERR_IDEMPOTENCY_IN_FLIGHT', 'refused_for_now'],
    [409, 'ERR_INVALID_STATE', 'refused'],
    [429, '', 'refused_for_now'],
    [500, '', 'failed'],
    [501, '', 'failed'],
    [502, '', 'unknown'],
    [503, '', 'refused_for_now'],
    [503, 'ERR_DATABASE_UNAVAILABLE', 'unknown'],
    [504, '', 'unknown'],
  ])('says of %i %s: %s', (status, code, verdict) => {
    expect(judge(status, code)).toBe(verdict);
  });
});

describe('waitMs', () => {
  it('prefers the header, takes the body else, and a default where neither speaks', () => {
    expect(waitMs(toProblem(429, retry(5, 0)), '7', () => 0.5)).toBe(7_000);
    expect(waitMs(toProblem(429, retry(5, 0)), null, () => 0.5)).toBe(5_000);
    expect(waitMs(toProblem(429, retry(5, 0)), 'Wed, 21 Oct 2026 07:28:00 GMT', () => 0.5)).toBe(5_000);
    expect(waitMs(toProblem(429, null), null, () => 0.5)).toBe(5_500);
  });

  it('spreads callers uniformly over the jitter', () => {
    const waits = Array.from({ length: 1_000 }, (_, index) =>
      waitMs(toProblem(429, retry(5, 4)), '5', () => index / 1_000),
    );
    expect(Math.min(...waits.map(Number))).toBe(5_000);
    expect(Math.max(...waits.map(Number))).toBeLessThan(9_000);
    expect(waits.filter((wait) => Number(wait) < 7_000)).toHaveLength(500);
  });

  it('does not wait longer than a minute', () => {
    expect(waitMs(toProblem(503, retry(60, 0)), '60', () => 0)).toBe(60_000);
    expect(waitMs(toProblem(503, retry(61, 0)), '61', () => 0)).toBeNull();
  });
});

describe('toProblem', () => {
  it.each([null, 'text', [], {}, { code: 7 }])('makes a problem of %j', (body) => {
    expect(toProblem(502, body)).toEqual({
      type: 'about:blank',
      title: 'HTTP 502',
      status: 502,
      code: 'NO_PROBLEM_DOCUMENT',
    });
  });

  it('drops a retry member that is malformed and keeps members it does not know', () => {
    const body = { code: 'ERR_X', retry: { after_seconds: '5' }, compensation: { tax_minor: 1 } };
    expect(toProblem(503, body)).toEqual({
      type: 'about:blank',
      title: 'ERR_X',
      status: 503,
      code: 'ERR_X',
      compensation: { tax_minor: 1 },
    });
  });
});
