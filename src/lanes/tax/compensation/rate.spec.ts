import fc from 'fast-check';
import { rateFromText, taxMinorOf, textOfRate } from './rate';

const anyRate = fc.integer({ min: 0, max: 1_000_000 });
const anyAmount = fc.oneof(
  fc.integer({ min: 0, max: 10_000 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.integer({ min: 0, max: 10_000 }).map((below) => Number.MAX_SAFE_INTEGER - below),
);

/** Half up in big integers: shares no step with what it checks. */
function taxByBigInt(amountMinor: number, rate: number): bigint {
  return (2n * BigInt(amountMinor) * BigInt(rate) + 1_000_000n) / 2_000_000n;
}

describe('a rate', () => {
  it.each([
    ['0', 0],
    ['0.0', 0],
    ['0.0825', 82_500],
    ['0.14975', 149_750],
    ['0.000001', 1],
    ['0.08250000', 82_500],
    ['1', 1_000_000],
  ])('%s is %d millionths', (text, millionths) => {
    expect(rateFromText(text)).toBe(millionths);
  });

  it.each(['', '.5', '-0.1', '1.000001', '2', '0.0000001', '1e-2', '0,08', ' 0.1', '08', 'NaN'])(
    '%p is none',
    (text) => {
      expect(() => rateFromText(text)).toThrow(RangeError);
    },
  );

  it('comes back from its text', () => {
    fc.assert(fc.property(anyRate, (rate) => rateFromText(textOfRate(rate)) === rate));
  });

  it.each([
    [0, '0'],
    [1_000_000, '1'],
    [82_500, '0.0825'],
    [200_000, '0.2'],
  ])('%d millionths are written %s', (rate, text) => {
    expect(textOfRate(rate)).toBe(text);
  });
});

describe('the tax on an amount', () => {
  it.each([
    [100, 75_000, 8, 'a half goes up'],
    [100, 74_999, 7, 'just below a half goes down'],
    [1, 499_999, 0, 'less than half a unit is nothing'],
    [1, 500_000, 1, 'half a unit is one'],
    [0, 1_000_000, 0, 'nothing of nothing'],
    [Number.MAX_SAFE_INTEGER, 1_000_000, Number.MAX_SAFE_INTEGER, 'all of the largest amount'],
  ])('%d at %d millionths is %d: %s', (amountMinor, rate, tax) => {
    expect(taxMinorOf(amountMinor, rate)).toBe(tax);
  });

  it('is what big integers say, for every amount and rate', () => {
    fc.assert(
      fc.property(anyAmount, anyRate, (amount, rate) => BigInt(taxMinorOf(amount, rate)) === taxByBigInt(amount, rate)),
      { numRuns: 5_000 },
    );
  });

  it('does not fall when the amount or the rate rises', () => {
    fc.assert(
      fc.property(anyAmount, anyRate, (amount, rate) => {
        const tax = taxMinorOf(amount, rate);
        return (
          (amount === Number.MAX_SAFE_INTEGER || taxMinorOf(amount + 1, rate) >= tax) &&
          (rate === 1_000_000 || taxMinorOf(amount, rate + 1) >= tax)
        );
      }),
    );
  });

  it('is zero only where less than half a unit is due', () => {
    fc.assert(
      fc.property(anyAmount, anyRate, (amount, rate) => {
        const due = BigInt(amount) * BigInt(rate);
        return (taxMinorOf(amount, rate) === 0) === due < 500_000n;
      }),
    );
  });

  it('would be caught if it were computed in floats', () => {
    const inFloats = (amount: number, rate: number): number => Math.round(amount * (rate / 1_000_000));
    const check = fc.check(
      fc.property(anyAmount, anyRate, (amount, rate) => BigInt(inFloats(amount, rate)) === taxByBigInt(amount, rate)),
      { numRuns: 5_000 },
    );
    expect(check.failed).toBe(true);
  });
});
