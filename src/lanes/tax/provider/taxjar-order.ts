import { formatMinor } from '../../../shared/money';
import type { QuoteRequest } from '../tax';
import { writtenNumber } from './written-json';

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
    ...(shipTo.postalCode !== null && { to_zip: shipTo.postalCode }),
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
