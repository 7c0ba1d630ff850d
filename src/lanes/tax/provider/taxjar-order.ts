import { formatMinor } from '../../../shared/money';
import type { QuoteRequest } from '../tax';
import { writtenNumber } from './written-json';

const NAMES = { US: 'the United States', CA: 'Canada' } as const;

/**
 * `POST /v2/taxes` after TaxJar's API reference (developers.taxjar.com/api/reference). Amounts are decimal numbers in
 * major units, written from the minor units digit for digit. Where the seller is (`from_…`, nexus) is on file in the
 * provider's account. Lines go under the caller's own ids, so that the answer is matched by id and never by position.
 */
export function taxjarOrder({ currency, shipTo, lines, shippingMinor }: QuoteRequest): string {
  const major = (amountMinor: number): unknown => writtenNumber(formatMinor(amountMinor, currency));
  const goodsMinor = lines.reduce((sumMinor, { amountMinor }) => sumMinor + amountMinor, 0);
  return JSON.stringify({
    to_country: shipTo.country,
    ...(shipTo.region !== null && { to_state: shipTo.region }),
    ...(shipTo.postalCode !== null && { to_zip: zipOf(shipTo.country, shipTo.postalCode) }),
    amount: major(goodsMinor),
    shipping: major(shippingMinor),
    line_items: lines.map(({ id, amountMinor, taxCode }) => ({
      id,
      quantity: 1,
      unit_price: major(amountMinor),
      ...(taxCode !== null && { product_tax_code: taxCode }),
    })),
  });
}

/** In the US as TaxJar's reference has it, `94102` or `94102-1234`, however its digits were spaced; elsewhere as written. */
function zipOf(country: string, postalCode: string): string {
  const [, zip, four] = /^(\d{5})(\d{4})?$/.exec(postalCode.replace(/[ -]/g, '')) ?? [];
  if (country !== 'US' || zip === undefined) return postalCode;
  return four === undefined ? zip : `${zip}-${four}`;
}

/** What an order lacks by TaxJar's reference, for whoever ordered; null where it lacks nothing. */
export function lacksForTaxjar({ country, region, postalCode }: QuoteRequest['shipTo']): string | null {
  if (region === null && (country === 'US' || country === 'CA')) {
    return `it needs the ${country === 'US' ? 'state' : 'province'} of an address in ${NAMES[country]}`;
  }
  if (postalCode === null && country === 'US') return `it needs the postal code of an address in ${NAMES.US}`;
  return null;
}
