import { z } from 'zod';
import { exactDecimal, type ExactDecimal } from './exact-decimal';

const CALL_MS_MAX = 10_000;

/** A number as its digits were written: the check of a rate must not begin with a float. */
const digits = z.string().transform((text, context): ExactDecimal => {
  try {
    return exactDecimal(text);
  } catch {
    context.addIssue(`not a number: ${text}`);
    return z.NEVER;
  }
});

const shownRate = z.object({ rate: digits });
const summarySchema = z.object({
  summary_rates: z.array(
    z.object({
      country_code: z.string(),
      region_code: z.string().nullable(),
      minimum_rate: shownRate,
      average_rate: shownRate,
    }),
  ),
});
const postalSchema = z.object({ rate: z.object({ combined_rate: digits }) });
const part = z.object({ tax_collectable: digits });
const taxSchema = z.object({
  tax: z.object({
    breakdown: z.object({ shipping: part, line_items: z.array(part.extend({ id: z.string() })) }),
  }),
});

export interface SummaryRate {
  readonly country: string;
  readonly region: string | null;
  readonly minimum: ExactDecimal;
  readonly average: ExactDecimal;
}

export interface ProviderOrder {
  readonly country: string;
  readonly region: string | null;
  readonly postalCode: string | null;
  readonly lines: readonly { readonly id: string; readonly amount: string }[];
  readonly shipping: string;
}

export interface ProviderTax {
  readonly shipping: ExactDecimal;
  readonly lines: ReadonlyMap<string, ExactDecimal>;
}

/** The provider's three endpoints as the table and its certification need them: TaxJar's API, read digit by digit. */
export class Provider {
  readonly #url: string;
  readonly #token: string | null;

  constructor(url: string, token: string | null) {
    this.#url = url.replace(/\/$/, '');
    this.#token = token;
  }

  async summaryRates(): Promise<SummaryRate[]> {
    const { summary_rates: rates } = summarySchema.parse(await this.#call('/v2/summary_rates'));
    return rates.map((row) => ({
      country: isoCountry(row.country_code),
      region: row.region_code,
      minimum: row.minimum_rate.rate,
      average: row.average_rate.rate,
    }));
  }

  /** State and local together; null where the provider does not know the postal code. */
  async combinedRate(country: string, region: string, postalCode: string): Promise<ExactDecimal | null> {
    const query = new URLSearchParams({ country, state: region });
    const answer = await this.#call(`/v2/rates/${encodeURIComponent(postalCode)}?${query.toString()}`);
    return answer === null ? null : postalSchema.parse(answer).rate.combined_rate;
  }

  /** What it would charge, unrounded. */
  async taxes(order: ProviderOrder): Promise<ProviderTax> {
    const body = JSON.stringify({
      to_country: order.country,
      to_state: order.region ?? undefined,
      to_zip: order.postalCode ?? undefined,
      shipping: Number(order.shipping),
      line_items: order.lines.map(({ id, amount }) => ({ id, quantity: 1, unit_price: Number(amount) })),
    });
    const { breakdown } = taxSchema.parse(await this.#call('/v2/taxes', body)).tax;
    return {
      shipping: breakdown.shipping.tax_collectable,
      lines: new Map(breakdown.line_items.map((line) => [line.id, line.tax_collectable])),
    };
  }

  /** Null for 404. */
  async #call(path: string, body?: string): Promise<unknown> {
    const response = await fetch(`${this.#url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(this.#token !== null && { authorization: `Bearer ${this.#token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(CALL_MS_MAX),
    });
    const text = await response.text();
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`The provider answered ${path} with ${response.status}: ${text.slice(0, 200)}`);
    return parseAsWritten(text);
  }
}

/** JSON whose numbers stay the texts that they were written as. */
function parseAsWritten(text: string): unknown {
  // The third argument is in Node 24 and not yet in TypeScript's library.
  const reviver = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver);
}

/** TaxJar says UK for the United Kingdom and EL for Greece; ISO 3166 and the product say GB and GR. */
function isoCountry(code: string): string {
  return { UK: 'GB', EL: 'GR' }[code] ?? code;
}
