import { add, type Decimal, decimalOf, multiply, roundedToCents, subtract, sum, ZERO } from './decimal';
import { type Json, type Writable, type WritableObject, WrittenNumber } from './json';
import type { PlaceRate, Rates } from './rates';

/** A request that the provider refuses; `status` and the words are TaxJar's. */
export class Refused extends Error {
  constructor(
    readonly status: 400 | 401 | 404 | 406,
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
 * `POST /v2/taxes`, after TaxJar's reference. Two differences, unless it is `strict`: an order to the US needs no `to_zip`,
 * so that the rate of a whole state can be asked for; and nothing is rounded, since the order does not say in which
 * currency it is.
 *
 * @throws Refused
 */
export function taxesOf(body: Json, rates: Rates, strict = false): Writable {
  const order = orderOf(body);
  const { country, region, postalCode } = order;
  if (strict && country === 'US' && postalCode === null) {
    throw new Refused(400, 'No to zip, required when country is US');
  }
  const elsewhere = postalCode === null ? null : rates.atPostalCode(country, postalCode);
  if (elsewhere !== null && region !== null && elsewhere.region !== region) {
    throw new Refused(400, `to_zip ${postalCode} is not used within to_state ${region}`);
  }
  const place = rates.at(country, region, postalCode);
  if (place === null) throw new Refused(400, `No rate for ${country} ${region ?? ''}`.trim());
  const round: Rounding = strict ? roundedToCents : (exact) => exact;
  const goods = sum(order.lines.map(({ amount }) => amount));
  const total = add(goods, order.shipping);
  const due = round(multiply(total, place.combined));
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
        ...part(total, place, round),
        shipping: part(order.shipping, place, round),
        line_items: order.lines.map(({ id, amount }) => ({ id, ...part(amount, place, round) })),
      },
    },
  };
}

/** How sums of money are given: as they are, or to the cent. */
type Rounding = (exact: Decimal) => Decimal;

function part(amount: Decimal, place: PlaceRate, round: Rounding): WritableObject {
  return {
    taxable_amount: { decimal: amount },
    tax_collectable: { decimal: round(multiply(amount, place.combined)) },
    combined_tax_rate: { decimal: place.combined },
    ...shares(amount, place, round),
  };
}

/** Who gets how much of it: by state and district, by GST and the province's tax, or one country. */
function shares(amount: Decimal, { base, combined }: PlaceRate, round: Rounding): WritableObject {
  const taxed = (rate: Decimal): { decimal: Decimal } => ({ decimal: round(multiply(amount, rate)) });
  const local = subtract(combined, base.rate);
  if (base.country === 'US') {
    return {
      state_taxable_amount: { decimal: amount },
      state_tax_rate: { decimal: base.rate },
      state_amount: taxed(base.rate),
      special_tax_rate: { decimal: local },
      special_district_amount: taxed(local),
    };
  }
  if (base.country === 'CA') {
    const gst = { units: 5n, scale: 2 };
    const provincial = subtract(combined, gst);
    const name = base.region === 'QC' ? 'qst' : 'pst';
    return {
      gst_taxable_amount: { decimal: amount },
      gst_tax_rate: { decimal: gst },
      gst: taxed(gst),
      [`${name}_tax_rate`]: { decimal: provincial },
      [name]: taxed(provincial),
    };
  }
  return {
    country_taxable_amount: { decimal: amount },
    country_tax_rate: { decimal: combined },
    country_tax_collectable: taxed(combined),
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
