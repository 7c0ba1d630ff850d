import type { CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import type { QuoteRequest } from '../../../src/lanes/tax/tax';

/** One currency each of no, two and three decimals (ISO 4217). */
export const BASKET_CURRENCIES = [
  { currency: 'JPY', exponent: 0 },
  { currency: 'USD', exponent: 2 },
  { currency: 'KWD', exponent: 3 },
] as const;

/**
 * Amounts whose tax falls on halves, just beside them, on nothing and on much: 4 at 12.5 % is a half, 1,000 at 8.25 %
 * ends in one, 1 rounds away.
 */
const AMOUNTS_MINOR = [0, 1, 4, 6, 10, 50, 99, 100, 333, 1_000, 1_999, 12_345, 1_000_000, 98_765_432];
const SHIPPING_MINOR = 599;

/** What a customer there might buy. */
export function basketFor(row: CompensationTableFile['rows'][number], currency: string): QuoteRequest {
  const [country = '', region = null] = row.jurisdiction.split('-');
  return {
    currency,
    shipTo: { country, region, postalCode: row.postal_code },
    lines: AMOUNTS_MINOR.map((amountMinor, index) => ({ id: String(index), amountMinor, taxCode: null })),
    shippingMinor: SHIPPING_MINOR,
  };
}
