import { exactDecimal, isEqualDecimal, majorText, roundHalfUp } from './exact-decimal';

describe('an exact decimal', () => {
  it.each([
    ['0.125', 2, 13n],
    ['0.1249999999999999999999', 2, 12n],
    ['0.115', 2, 12n],
    ['12', 2, 1_200n],
    ['1.5e-3', 3, 2n],
    ['2.5', 0, 3n],
    ['0', 2, 0n],
    ['-0.125', 2, -12n],
    ['-0.126', 2, -13n],
  ])('%s in units of 10^-%d is %d, rounded half up', (text, exponent, units) => {
    expect(roundHalfUp(exactDecimal(text), exponent)).toBe(units);
  });

  it('is equal whatever zeros it ends in', () => {
    expect(isEqualDecimal(exactDecimal('0.20'), exactDecimal('0.2'))).toBe(true);
    expect(isEqualDecimal(exactDecimal('0.2'), exactDecimal('0.02'))).toBe(false);
  });

  it.each([
    [1_234, 0, '1234'],
    [1_234, 2, '12.34'],
    [4, 3, '0.004'],
    [0, 2, '0.00'],
  ])('%d minor units with %d decimals are %s', (amountMinor, exponent, text) => {
    expect(majorText(amountMinor, exponent)).toBe(text);
  });

  it.each(['', 'NaN', '1,5', '0x1', '--1'])('is not %p', (text) => {
    expect(() => exactDecimal(text)).toThrow(RangeError);
  });
});
