import { z } from 'zod';
import { minorUnitExponent } from '../../../shared/money';
import type { LineTax, Quote, QuoteRequest } from '../tax';
import {
  compare,
  type Decimal,
  decimalFromMinor,
  decimalFromText,
  decimalText,
  minorHalfUp,
  multiply,
  ONE,
  ZERO,
} from './decimal';
import { ProviderFailure } from './provider-failure';
import { parseWritten, WrittenNumber } from './written-json';

const decimal = z.instanceof(WrittenNumber).transform(({ text }, context): Decimal => {
  const value = decimalFromText(text);
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message: 'is no amount' });
  return z.NEVER;
});

const partSchema = z.looseObject({
  taxable_amount: decimal,
  tax_collectable: decimal,
  combined_tax_rate: decimal,
});

/** The members of TaxJar's answer that mean money or say what the answer is for; the others are let pass. */
const answerSchema = z.looseObject({
  currency: z.string().optional(),
  tax: z.looseObject({
    currency: z.string().optional(),
    order_total_amount: decimal.optional(),
    shipping: decimal.optional(),
    amount_to_collect: decimal,
    rate: decimal,
    has_nexus: z.boolean(),
    jurisdictions: z.looseObject({ country: z.string().nullish(), state: z.string().nullish() }).nullish(),
    breakdown: z
      .looseObject({
        combined_tax_rate: decimal.optional(),
        shipping: partSchema.nullish(),
        line_items: z.array(
          partSchema.extend({ id: z.union([z.string(), z.instanceof(WrittenNumber).transform(({ text }) => text)]) }),
        ),
      })
      .nullish(),
  }),
});
type Tax = z.infer<typeof answerSchema>['tax'];
type Breakdown = NonNullable<Tax['breakdown']>;
type Part = z.infer<typeof partSchema>;

/** Of the US and Canada. */
const REGION_CODE = /^[A-Z]{2}$/;

/** Half a unit of rounding for each of state, county, city and district, and for the part as a whole. */
const ROUNDINGS_PER_PART_UNITS = 3n;

/**
 * The tax of an order from what the provider answered to it. The provider's own `tax_collectable` of each line is the
 * tax: it is what the provider will report, and the sum of several jurisdictions' roundings. It must agree with its rate
 * within those roundings, and the total with the lines; an answer that disagrees with itself or with the order is no tax.
 *
 * @throws ProviderFailure `wrong`
 */
export function taxjarQuote(text: string, request: QuoteRequest): Quote {
  const parsed = answerSchema.safeParse(parse(text));
  if (!parsed.success) throw wrong(`not a tax: ${parsed.error.issues[0]?.path.join('.') ?? ''}`);
  const { tax, currency } = parsed.data;
  for (const given of [currency, tax.currency]) {
    if (given !== undefined && given.toUpperCase() !== request.currency) throw wrong('in another currency');
  }
  return new Reading(tax, request).quote();
}

function parse(text: string): unknown {
  try {
    return parseWritten(text);
  } catch (error) {
    throw wrong('not JSON', error);
  }
}

function wrong(detail: string, cause?: unknown): ProviderFailure {
  return new ProviderFailure('wrong', `The provider's answer is ${detail}`, cause);
}

class Reading {
  readonly #tax: Tax;
  readonly #request: QuoteRequest;
  readonly #exponent: number;

  constructor(tax: Tax, request: QuoteRequest) {
    this.#tax = tax;
    this.#request = request;
    const exponent = minorUnitExponent(request.currency);
    if (exponent === undefined) throw new RangeError('A request in a currency without minor unit');
    this.#exponent = exponent;
  }

  quote(): Quote {
    const { breakdown } = this.#tax;
    this.#checkOrder();
    if (!breakdown) return this.#withoutNexus();
    const lines = this.#lines(breakdown);
    const shippingTaxMinor = this.#shipping(breakdown);
    const taxMinor = lines.reduce((sumMinor, line) => sumMinor + line.taxMinor, shippingTaxMinor);
    this.#checkTotal(taxMinor, lines.length + 1);
    return {
      taxMinor,
      rate: decimalText(checkedRate(breakdown.combined_tax_rate ?? this.#tax.rate)),
      shippingTaxMinor,
      lines,
      jurisdiction: this.#jurisdiction(),
    };
  }

  /** Whether it is an answer to this order: the sums of another currency's order would be others. */
  #checkOrder(): void {
    const { order_total_amount, shipping, jurisdictions } = this.#tax;
    const { shipTo, lines, shippingMinor } = this.#request;
    const totalMinor = lines.reduce((sumMinor, { amountMinor }) => sumMinor + amountMinor, shippingMinor);
    if (order_total_amount && compare(order_total_amount, this.#major(totalMinor)) !== 0)
      throw wrong('for another total');
    if (shipping && compare(shipping, this.#major(shippingMinor)) !== 0) throw wrong('for another shipping');
    checkedRate(this.#tax.rate);
    const { country, state } = jurisdictions ?? {};
    if (country && country !== shipTo.country && !(country === 'UK' && shipTo.country === 'GB')) {
      throw wrong('for another country');
    }
    if (state && shipTo.region !== null && state !== shipTo.region) throw wrong('for another region');
  }

  /** Where the seller has no nexus nothing is due; TaxJar says so in one word and sends no lines. */
  #withoutNexus(): Quote {
    const { has_nexus, amount_to_collect, rate } = this.#tax;
    if (has_nexus || compare(amount_to_collect, ZERO) !== 0 || compare(rate, ZERO) !== 0) throw wrong('without lines');
    return {
      taxMinor: 0,
      rate: '0',
      shippingTaxMinor: 0,
      lines: this.#request.lines.map(({ id }) => ({ id, taxMinor: 0, rate: '0' })),
      jurisdiction: this.#jurisdiction(),
    };
  }

  #lines({ line_items }: Breakdown): LineTax[] {
    const { lines } = this.#request;
    const parts = new Map(line_items.map((part) => [part.id, part]));
    if (parts.size !== line_items.length || line_items.length !== lines.length) {
      throw wrong(`of ${line_items.length} lines for an order of ${lines.length}`);
    }
    return lines.map(({ id, amountMinor }) => {
      const part = parts.get(id);
      if (part === undefined) throw wrong('without one of the lines');
      return { id, taxMinor: this.#partTax(part, amountMinor), rate: decimalText(part.combined_tax_rate) };
    });
  }

  /** Left out where shipping is not taxed. */
  #shipping({ shipping }: Breakdown): number {
    return shipping ? this.#partTax(shipping, this.#request.shippingMinor) : 0;
  }

  #partTax({ taxable_amount, tax_collectable, combined_tax_rate }: Part, amountMinor: number): number {
    if (compare(taxable_amount, ZERO) < 0 || compare(taxable_amount, this.#major(amountMinor)) > 0) {
      throw wrong('taxing another amount than that of the line');
    }
    if (compare(tax_collectable, ZERO) < 0) throw wrong('a negative tax');
    if (compare(tax_collectable, taxable_amount) > 0) throw wrong('a tax above the amount');
    const byRateMinor = minorHalfUp(multiply(taxable_amount, checkedRate(combined_tax_rate)), this.#exponent);
    const taxMinor = minorHalfUp(tax_collectable, this.#exponent);
    const toleranceMinor = ROUNDINGS_PER_PART_UNITS * this.#roundingUnitMinor();
    if (apart(taxMinor, byRateMinor) > toleranceMinor) throw wrong('a tax that does not follow from its rate');
    return Number(taxMinor);
  }

  #checkTotal(taxMinor: number, parts: number): void {
    const { amount_to_collect } = this.#tax;
    if (compare(amount_to_collect, ZERO) < 0) throw wrong('a negative tax');
    const toleranceMinor = ROUNDINGS_PER_PART_UNITS * this.#roundingUnitMinor() * BigInt(parts);
    const totalMinor = minorHalfUp(amount_to_collect, this.#exponent);
    if (apart(totalMinor, BigInt(taxMinor)) > toleranceMinor) throw wrong('a total that is not the sum of its lines');
  }

  /** What the provider rounds to: hundredths, and minor units where those are larger. */
  #roundingUnitMinor(): bigint {
    return 10n ** BigInt(Math.max(0, this.#exponent - 2));
  }

  /**
   * The request's region, else the provider's, where the rate depends on one. The provider's is taken for a code only: any
   * other text of it would be part of an answer to a caller.
   */
  #jurisdiction(): string {
    const { country, region } = this.#request.shipTo;
    if (country !== 'US' && country !== 'CA') return country;
    const said = this.#tax.jurisdictions?.state ?? '';
    const state = region ?? (REGION_CODE.test(said) ? said : '');
    return state === '' ? country : `${country}-${state}`;
  }

  #major(amountMinor: number): Decimal {
    return decimalFromMinor(BigInt(amountMinor), this.#exponent);
  }
}

function checkedRate(rate: Decimal): Decimal {
  if (compare(rate, ZERO) < 0 || compare(rate, ONE) > 0) throw wrong('a rate outside 0 to 100 %');
  return rate;
}

function apart(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b;
}
