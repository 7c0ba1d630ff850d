import { data } from 'currency-codes';

/** The largest amount in minor units: 2^53 - 1, the last integer that a JSON number carries exactly (contract 9). */
export const AMOUNT_MINOR_MAX = Number.MAX_SAFE_INTEGER;

/**
 * Codes of ISO 4217 without a minor unit: metals, bond market units, the SDR and its like, testing, no currency. The
 * package gives them an exponent of 0, ISO gives them none ("N.A."), so an amount in their minor units means nothing.
 */
const WITHOUT_MINOR_UNIT: ReadonlySet<string> = new Set([
  'XAG',
  'XAU',
  'XBA',
  'XBB',
  'XBC',
  'XBD',
  'XDR',
  'XPD',
  'XPT',
  'XSU',
  'XTS',
  'XUA',
  'XXX',
]);

/** In ISO 4217 since the package's list of 2024-06-25: the Caribbean guilder, from 2025-03-31. */
const ADDED_SINCE: readonly (readonly [string, number])[] = [['XCG', 2]];

/**
 * Minor-unit exponents by alphabetic code. Fund codes (CLF, UYW, …) have one and stay; so do codes withdrawn since the
 * list was made (ANG, BGN), in which older payments are still captured and refunded.
 */
const exponents: ReadonlyMap<string, number> = new Map([
  ...data.filter(({ code }) => !WITHOUT_MINOR_UNIT.has(code)).map(({ code, digits }) => [code, digits] as const),
  ...ADDED_SINCE,
]);

/** Whether `code` is an upper-case ISO 4217 code in whose minor units an amount can be given. */
export function isCurrency(code: string): boolean {
  return exponents.has(code);
}

/** Decimals of the currency: 0 for JPY, 2 for USD, 3 for KWD; undefined where {@link isCurrency} says no. */
export function minorUnitExponent(code: string): number | undefined {
  return exponents.get(code);
}

/** Whether `value` is an amount: a whole number of minor units that is exact, and at least `minimum`. */
export function isAmountMinor(value: unknown, minimum = 1): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum;
}

/**
 * The number for an integer that PostgreSQL sent as text (`bigint`).
 *
 * @throws RangeError beyond 2^53 - 1, where the number would be another one; sums of that size stay text or bigint.
 */
export function amountMinorFromText(text: string): number {
  const amountMinor = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(amountMinor)) {
    // Without the text: amounts are never logged in clear (contract 7).
    throw new RangeError('Not an exact number of minor units');
  }
  return amountMinor;
}

/** `1234` of USD as `"12.34"`: for people to read, exact, never parsed again. */
export function formatMinor(amountMinor: number | bigint, currency: string): string {
  const exponent = minorUnitExponent(currency);
  if (exponent === undefined) throw new RangeError(`Not a currency: ${currency}`);
  const amount = BigInt(amountMinor);
  const digits = (amount < 0n ? -amount : amount).toString().padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent);
  const sign = amount < 0n ? '-' : '';
  return exponent === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-exponent)}`;
}
