import { findMaxRate, nextRate, type RateStep } from './find-max';
import type { MeasuredRun } from './measured-run';

/** A server that holds up to a rate, and a generator that is void above another. */
function stepOf(holdsTo: number, voidAbove = Infinity): (shape: RateStep) => Promise<MeasuredRun> {
  return ({ rate }) =>
    Promise.resolve({ rate, void: rate > voidAbove, held: rate <= holdsTo && rate <= voidAbove } as MeasuredRun);
}

describe('the highest rate that holds', () => {
  test.each([1_400, 1_450, 3_333, 700, 9_000])('a server that holds %i/s is found to within 100/s', async (holdsTo) => {
    const { rate, failedRate, limitedByGenerator, steps } = await findMaxRate(1_400, stepOf(holdsTo));
    expect(rate).not.toBeNull();
    expect(holdsTo - (rate ?? 0)).toBeLessThan(100);
    expect(holdsTo - (rate ?? 0)).toBeGreaterThanOrEqual(0);
    expect(failedRate).toBe((rate ?? 0) + 100);
    expect(limitedByGenerator).toBe(false);
    expect(steps.length).toBeLessThan(16);
  });

  test('void steps are made twice, recorded, and told apart from a server that does not hold', async () => {
    const { rate, limitedByGenerator, steps } = await findMaxRate(1_400, stepOf(9_000, 2_050));
    expect(rate).toBe(2_000);
    expect(limitedByGenerator).toBe(true);
    expect(steps.filter((step) => step.void).length % 2).toBe(0);
  });

  test('a server that holds nothing ends the search', async () => {
    expect((await findMaxRate(1_400, stepOf(0))).rate).toBeNull();
  });

  test('the next rate lies on the grid and strictly between', () => {
    expect(nextRate(1_400, null, 1_400)).toBe(2_100);
    expect(nextRate(1_400, 1_600, 1_400)).toBe(1_500);
    expect(nextRate(1_400, 1_500, 1_400)).toBeNull();
    expect(nextRate(1_400, 1_700, 1_400)).toBe(1_600);
  });
});
