/**
 * Decimals as texts and big integers, for checks that must share nothing with what they check: the product multiplies
 * millionths, this counts digits.
 */
export interface ExactDecimal {
  readonly units: bigint;
  readonly scale: number;
}

/** @throws RangeError for what is no decimal number. */
export function exactDecimal(text: string): ExactDecimal {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`Not a decimal number: ${text}`);
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

export function isEqualDecimal(a: ExactDecimal, b: ExactDecimal): boolean {
  return a.units * 10n ** BigInt(b.scale) === b.units * 10n ** BigInt(a.scale);
}

/** `value` in units of 10^−exponent, rounded half up: 0.125 with exponent 2 is 13. */
export function roundHalfUp({ units, scale }: ExactDecimal, exponent: number): bigint {
  const shifted = scale - exponent;
  if (shifted <= 0) return units * 10n ** BigInt(-shifted);
  const divisor = 10n ** BigInt(shifted);
  const doubled = 2n * units + divisor;
  // Floor, also below zero, so that "half up" means towards positive infinity everywhere.
  const quotient = doubled / (2n * divisor);
  return doubled < 0n && doubled % (2n * divisor) !== 0n ? quotient - 1n : quotient;
}

/** The text of minor units in major ones, as the provider takes amounts: 1234 with exponent 2 is `12.34`. */
export function majorText(amountMinor: number, exponent: number): string {
  if (exponent === 0) return String(amountMinor);
  const digits = String(amountMinor).padStart(exponent + 1, '0');
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}
