/** An exact decimal: `units` × 10^−`scale`. Money that crosses to the provider and back is never a float. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { units: 0n, scale: 0 };
export const ONE: Decimal = { units: 1n, scale: 0 };

/** Digits and decimals of a figure at most: `1e999999` would otherwise be a million digits of work. */
const DIGITS_MAX = 40;

/** A JSON number's text, exponents included; null for what is none, or is longer than any amount. */
export function decimalFromText(text: string): Decimal | null {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text) ?? [];
  if (whole === undefined || whole.length + fraction.length > DIGITS_MAX) return null;
  const scale = fraction.length - Number(exponent);
  if (Math.abs(scale) > DIGITS_MAX) return null;
  const units = BigInt(`${sign}${whole}${fraction}`);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

/** `1234` cents as 12.34. */
export function decimalFromMinor(amountMinor: bigint, exponent: number): Decimal {
  return { units: amountMinor, scale: exponent };
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale };
}

/** Below, at or above 0 as `a` is smaller than, equal to or greater than `b`. */
export function compare(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const difference = unitsAt(a, scale) - unitsAt(b, scale);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Minor units of a currency with `exponent` decimals, half up (contract 10). For amounts from 0. */
export function minorHalfUp({ units, scale }: Decimal, exponent: number): bigint {
  if (units < 0n) throw new RangeError('Not an amount from 0');
  if (scale <= exponent) return units * 10n ** BigInt(exponent - scale);
  const divisor = 10n ** BigInt(scale - exponent);
  return (2n * units + divisor) / (2n * divisor);
}

/** `0.0825`: no exponent, no zeros at the end. */
export function decimalText({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${scale > 0 && fraction !== '' ? `.${fraction}` : ''}`;
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}
