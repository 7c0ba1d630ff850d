import fc from 'fast-check';
import { schedule } from './schedule';

describe('schedule', () => {
  it('spaces a constant rate evenly from the first instant and stops before the end', () => {
    expect([...schedule([{ durationS: 2, rate: 2 }])]).toEqual([0, 500, 1_000, 1_500]);
  });

  it.each([
    [1_399, 1_399],
    [1_400, 1_400],
    [1_401, 1_401],
  ])('sends exactly rate × duration requests at %i/s', (rate, requests) => {
    expect([...schedule([{ durationS: 1, rate }])]).toHaveLength(requests);
  });

  it('starts a stage where the one before ended', () => {
    const due = [
      ...schedule([
        { durationS: 1, rate: 1 },
        { durationS: 1, rate: 2 },
      ]),
    ];
    expect(due).toEqual([0, 1_000, 1_500]);
  });

  it('pauses during a stage of rate 0', () => {
    const due = [
      ...schedule([
        { durationS: 3, rate: 0 },
        { durationS: 1, rate: 1 },
      ]),
    ];
    expect(due).toEqual([3_000]);
  });

  it('ramps so that request i is due when the integral of the rate reaches i', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 500, noNaN: true }),
        fc.double({ min: 0, max: 500, noNaN: true }),
        fc.double({ min: 0.1, max: 5, noNaN: true }),
        (rate, rateEnd, durationS) => {
          const due = [...schedule([{ durationS, rate, rateEnd }])];
          const requests = (durationS * (rate + rateEnd)) / 2;
          expect(Math.abs(due.length - requests)).toBeLessThanOrEqual(1);
          const integrals = due.map(
            (dueMs) => rate * (dueMs / 1_000) + ((rateEnd - rate) * (dueMs / 1_000) ** 2) / (2 * durationS),
          );
          expect(integrals.every((integral, index) => Math.abs(integral - index) < 1e-3)).toBe(true);
          expect(due.every((dueMs, index) => dueMs >= (due[index - 1] ?? 0))).toBe(true);
          expect(due.at(-1) ?? 0).toBeLessThanOrEqual(durationS * 1_000 + 1e-3);
        },
      ),
      { numRuns: 200 },
    );
  });
});
