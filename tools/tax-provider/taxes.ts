import { add, type Decimal, decimalOf, multiply, subtract, sum, ZERO } from './decimal';
import { type Json, type Writable, type WritableObject, WrittenNumber } from './json';
import type { PlaceRate, Rates } from './rates';

/** A request that the provider refuses; `status` and the words are TaxJar's. */
export class Refused extends Error {
  constructor(
    readonly status: 400 | 404 | 406,
    readonly detail: string,
  ) {
    super(detail);
  }
}

interface OrderLine {
  readonly id: string;
  readonly amount: Decimal;
}

interface Order {
  readonly country: string;
  readonly region: string | null;
  readonly postalCode: string | null;
  readonly lines: readonly OrderLine[];
  readonly shipping: Decimal;
}

type Members = Readonly<Record<string, Json>>;

/**
 * `POST /v2/taxes`, after TaxJar's reference. Two differences: an order to the US needs no `to_zip`, so that the rate of
 * a whole state can be asked for; and nothing is rounded, since the order does not say in which currency it is.
 *
 * @throws Refused
 */
export function taxesOf(body: Json, rates: Rates): Writable {
  const order = orderOf(body);
  const place = rates.at(order.country, order.region, order.postalCode);
  if (place === null) throw new Refused(400, `No rate for ${order.country} ${order.region ?? ''}`.trim());
  const goods = sum(order.lines.map(({ amount }) => amount));
  const total = add(goods, order.shipping);
  const due = multiply(total, place.combined);
  return {
    tax: {
      order_total_amount: { decimal: total },
      shipping: { decimal: order.shipping },
      taxable_amount: { decimal: total },
      amount_to_collect: { decimal: due },
      rate: { decimal: place.combined },
      has_nexus: true,
      freight_taxable: true,
      tax_source: 'destination',
      jurisdictions: {
        country: order.country,
        ...(place.base.region !== null && { state: place.base.region }),
        ...(place.postal !== null && { city: place.postal.city }),
      },
      breakdown: {
        ...part(total, place),
        shipping: part(order.shipping, place),
        line_items: order.lines.map(({ id, amount }) => ({ id, ...part(amount, place) })),
      },
    },
  };
}

function part(amount: Decimal, place: PlaceRate): WritableObject {
  return {
    taxable_amount: { decimal: amount },
    tax_collectable: { decimal: multiply(amount, place.combined) },
    combined_tax_rate: { decimal: place.combined },
    ...shares(amount, place),
  };
}

/** Who gets how much of it: by state and district, by GST and the province's tax, or one country. */
function shares(amount: Decimal, { base, combined }: PlaceRate): WritableObject {
  const local = subtract(combined, base.rate);
  if (base.country === 'US') {
    return {
      state_taxable_amount: { decimal: amount },
      state_tax_rate: { decimal: base.rate },
      state_amount: { decimal: multiply(amount, base.rate) },
      special_tax_rate: { decimal: local },
      special_district_amount: { decimal: multiply(amount, local) },
    };
  }
  if (base.country === 'CA') {
    const gst = { units: 5n, scale: 2 };
    const provincial = subtract(combined, gst);
    const name = base.region === 'QC' ? 'qst' : 'pst';
    return {
      gst_taxable_amount: { decimal: amount },
      gst_tax_rate: { decimal: gst },
      gst: { decimal: multiply(amount, gst) },
      [`${name}_tax_rate`]: { decimal: provincial },
      [name]: { decimal: multiply(amount, provincial) },
    };
  }
  return {
    country_taxable_amount: { decimal: amount },
    country_tax_rate: { decimal: combined },
    country_tax_collectable: { decimal: multiply(amount, combined) },
  };
}

function orderOf(body: Json): Order {
  if (!isMembers(body)) throw new Refused(406, 'The order must be a JSON object');
  const country = text(body, 'to_country');
  if (country === null) throw new Refused(406, 'to_country is missing');
  const region = text(body, 'to_state');
  if ((country === 'US' || country === 'CA') && region === null) throw new Refused(406, 'to_state is missing');
  const shipping = amount(body, 'shipping');
  if (shipping === null) throw new Refused(406, 'shipping is missing');
  const items = body['line_items'];
  if (items !== undefined && !Array.isArray(items)) throw new Refused(406, 'line_items must be an array');
  const lines = ((items ?? []) as readonly Json[]).map((item, index) => lineOf(item, index));
  const whole = amount(body, 'amount');
  if (whole === null && lines.length === 0) throw new Refused(406, 'amount or line_items are missing');
  return {
    country,
    region,
    postalCode: text(body, 'to_zip'),
    lines: lines.length > 0 ? lines : [{ id: '0', amount: whole ?? ZERO }],
    shipping,
  };
}

function lineOf(item: Json, index: number): OrderLine {
  if (!isMembers(item)) throw new Refused(406, 'line_items must be objects');
  const quantity = amount(item, 'quantity') ?? { units: 1n, scale: 0 };
  const price = amount(item, 'unit_price') ?? ZERO;
  const discount = amount(item, 'discount') ?? ZERO;
  return {
    id: text(item, 'id') ?? String(index),
    amount: subtract(multiply(price, quantity), discount),
  };
}

function isMembers(value: Json | undefined): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber);
}

function text(members: Members, name: string): string | null {
  const value = members[name];
  if (value instanceof WrittenNumber) return value.text;
  return typeof value === 'string' && value !== '' ? value : null;
}

function amount(members: Members, name: string): Decimal | null {
  const value = members[name];
  if (value === undefined || value === null) return null;
  const written = value instanceof WrittenNumber ? value.text : typeof value === 'string' ? value : '';
  const decimal = decimalOf(written);
  if (decimal === null) throw new Refused(406, `${name} must be a number`);
  return decimal;
}
