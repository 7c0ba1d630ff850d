/** An exact decimal: `units` × 10^−`scale`. Money and rates of the simulator are never floats. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

export const ZERO: Decimal = { units: 0n, scale: 0 };

/** Digits that an amount or a rate may have; what is longer is no order. */
const DIGITS_MAX = 40;

/** A JSON number's text, or a rate of the rates file; null for what is neither. */
export function decimalOf(text: string): Decimal | null {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text) ?? [];
  if (whole === undefined || whole.length + fraction.length > DIGITS_MAX) return null;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: unitsAt(a, scale) + unitsAt(b, scale), scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { units: -b.units, scale: b.scale });
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { units: a.units * b.units, scale: a.scale + b.scale };
}

export function sum(values: readonly Decimal[]): Decimal {
  return values.reduce(add, ZERO);
}

/** Two decimals, half up, as TaxJar gives sums of money whatever the currency. For amounts from 0. */
export function roundedToCents({ units, scale }: Decimal): Decimal {
  if (scale <= 2) return { units, scale };
  const divisor = 10n ** BigInt(scale - 2);
  return { units: (2n * units + divisor) / (2n * divisor), scale: 2 };
}

/** As JSON writes it: no exponent, no zeros at the end. */
export function textOf({ units, scale }: Decimal): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return `${units < 0n ? '-' : ''}${whole}${scale > 0 && fraction !== '' ? `.${fraction}` : ''}`;
}

function unitsAt({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}
