/** A rate as a whole number of millionths: 8.25 % is 82,500. Estimates are made of integers alone. */
export type RateMillionths = number;

const MILLION = 1_000_000;
const DECIMALS_MAX = 6;

/**
 * The millionths that a decimal fraction says: `0.0825` is 82,500.
 *
 * @throws RangeError for what is no fraction from 0 to 1, or is finer than a millionth: it could not be exact here.
 */
export function rateFromText(text: string): RateMillionths {
  const [, whole, fraction = ''] = /^([01])(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  if (whole === undefined || digits.length > DECIMALS_MAX) {
    throw new RangeError(`Not a rate from 0 to 1 of at most ${DECIMALS_MAX} decimals: ${text}`);
  }
  const rate = Number(whole) * MILLION + Number(digits.padEnd(DECIMALS_MAX, '0'));
  if (rate > MILLION) throw new RangeError(`A rate above 100 %: ${text}`);
  return rate;
}

/** The shortest decimal fraction of it: `0.0825`, `0`. */
export function textOfRate(rate: RateMillionths): string {
  const whole = Math.floor(rate / MILLION);
  const fraction = String(rate % MILLION)
    .padStart(DECIMALS_MAX, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/**
 * The tax on an amount, in the same minor units, rounded half up (contract 10).
 *
 * Whole millions of the amount are multiplied apart from the rest, so that no product passes 2^53 and every step is
 * exact for any amount from 0 to 2^53 − 1.
 */
export function taxMinorOf(amountMinor: number, rate: RateMillionths): number {
  const rest = amountMinor % MILLION;
  const millions = (amountMinor - rest) / MILLION;
  return millions * rate + Math.floor((rest * rate + MILLION / 2) / MILLION);
}
