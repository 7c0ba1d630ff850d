import { amountMinorFromText, formatMinor, isAmountMinor, isCurrency, minorUnitExponent } from './money';

describe('currencies', () => {
  it.each([
    ['JPY', 0],
    ['USD', 2],
    ['EUR', 2],
    ['KWD', 3],
    ['CLF', 4],
    ['XCG', 2],
  ])('%s has %i decimals', (code, exponent) => {
    expect(isCurrency(code)).toBe(true);
    expect(minorUnitExponent(code)).toBe(exponent);
  });

  it.each(['XXX', 'XTS', 'XAU', 'XDR', 'usd', 'Usd', 'US', 'USDX', 'ABC', '', ' USD', '840'])('%p is none', (code) => {
    expect(isCurrency(code)).toBe(false);
    expect(minorUnitExponent(code)).toBeUndefined();
  });
});

describe('amounts', () => {
  it('are safe integers of at least 1', () => {
    expect([1, 2, Number.MAX_SAFE_INTEGER].every((value) => isAmountMinor(value))).toBe(true);
    expect(
      [0, -1, 1.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1, '1', null, undefined].some((value) =>
        isAmountMinor(value),
      ),
    ).toBe(false);
  });

  it('come from text exactly or not at all', () => {
    expect(amountMinorFromText('9007199254740991')).toBe(Number.MAX_SAFE_INTEGER);
    expect(amountMinorFromText('0')).toBe(0);
    for (const text of ['9007199254740992', '9223372036854775807', '1.5', '1e2', '', ' 1', 'NaN']) {
      expect(() => amountMinorFromText(text)).toThrow(RangeError);
    }
  });

  it.each([
    [1234, 'USD', '12.34'],
    [5, 'USD', '0.05'],
    [-5, 'USD', '-0.05'],
    [1234, 'JPY', '1234'],
    [1, 'KWD', '0.001'],
    [9007199254740991, 'USD', '90071992547409.91'],
  ])('%i minor units of %s read %s', (amountMinor, currency, text) => {
    expect(formatMinor(amountMinor, currency)).toBe(text);
  });
});
