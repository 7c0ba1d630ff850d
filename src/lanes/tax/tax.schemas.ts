import { z } from 'zod';
import { isCurrency } from '../../shared/money';
import type { QuoteRequest } from './tax';

/** Text that PostgreSQL stores as it was sent: no NUL, no lone surrogate. */
function storableText(lengthMax: number): z.ZodString {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must be well-formed Unicode without NUL');
}

const amountMinor = z.int().min(0).describe('In minor units of the currency: 1234 is 12.34 USD, 1234 JPY, 1.234 KWD');

const shipToSchema = z.strictObject({
  country: z.string().regex(/^[A-Z]{2}$/, 'must be two upper-case letters, as in ISO 3166-1'),
  region: z
    .string()
    .regex(/^[A-Z0-9]{1,3}$/, 'must be one to three upper-case letters or digits, as in ISO 3166-2 after the hyphen')
    .optional()
    .describe('Needed for the United States and Canada, where there is no tax without it'),
  postal_code: z
    .string()
    .regex(/^[A-Za-z0-9](?:[A-Za-z0-9 -]{0,14}[A-Za-z0-9])?$/, 'must be 1 to 16 letters, digits, spaces and hyphens')
    .optional(),
});

const lineSchema = z.strictObject({
  id: storableText(64).describe('The line in the answer has the same'),
  amount_minor: amountMinor,
  tax_code: storableText(32).optional().describe('The provider’s category of the goods; without one the general rate'),
});

/** How many lines fit is decided by the 64 KiB of the body. */
export const quoteRequestSchema = z
  .strictObject({
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, { error: 'must be three upper-case letters', abort: true })
      .refine(isCurrency, 'must be an ISO 4217 code that has a minor unit'),
    ship_to: shipToSchema,
    lines: z
      .array(lineSchema)
      .min(1)
      .refine((lines) => new Set(lines.map(({ id }) => id)).size === lines.length, 'ids must be unique'),
    shipping_minor: amountMinor.optional(),
  })
  .refine(({ lines, shipping_minor = 0 }) => Number.isSafeInteger(sumOf(lines, shipping_minor)), {
    path: ['lines'],
    error: 'lines and shipping together must not exceed 2^53 - 1',
  });
export type QuoteRequestBody = z.infer<typeof quoteRequestSchema>;

function sumOf(lines: readonly { amount_minor: number }[], shippingMinor: number): number {
  return lines.reduce((sumMinor, line) => sumMinor + line.amount_minor, shippingMinor);
}

export function quoteRequestOf({ currency, ship_to, lines, shipping_minor }: QuoteRequestBody): QuoteRequest {
  return {
    currency,
    shipTo: {
      country: ship_to.country,
      region: ship_to.region ?? null,
      postalCode: ship_to.postal_code ?? null,
    },
    lines: lines.map(({ id, amount_minor, tax_code }) => ({
      id,
      amountMinor: amount_minor,
      taxCode: tax_code ?? null,
    })),
    shippingMinor: shipping_minor ?? 0,
  };
}

const minorUnits = z.int().min(0);
const rate = z.string().describe('A decimal fraction: 0.0825 is 8.25 %');

const figures = {
  tax_minor: minorUnits.describe('The sum of the lines’ tax and the tax on shipping'),
  rate,
  shipping_tax_minor: minorUnits,
  lines: z.array(z.strictObject({ id: z.string(), tax_minor: minorUnits, rate })),
  jurisdiction: z.string().describe('US-CA, CA-ON, DE'),
};

export const quoteAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, quo_…'),
  source: z.literal('PROVIDER'),
  ...figures,
});
export type QuoteAnswer = z.infer<typeof quoteAnswerSchema>;

export const estimateAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, quo_…'),
  source: z.literal('CACHED_COMPENSATION'),
  ...figures,
  rate_scope: z.enum(['country', 'region', 'postal_code']),
  certificate_id: z.string(),
  tax_code_ignored: z.boolean().describe('A line had a tax code, and the general rate was taken for it'),
});
export type EstimateAnswer = z.infer<typeof estimateAnswerSchema>;

export const reconciledEstimateAnswerSchema = estimateAnswerSchema.extend({
  reconciliation: z.strictObject({
    status: z.enum(['PENDING', 'RECONCILED', 'FAILED']),
    provider: z.strictObject(figures).nullable().describe('What the provider said of the same order later'),
    difference_minor: z.int().nullable().describe('The provider’s tax less the estimate'),
    settled_at: z.iso.datetime().nullable(),
  }),
});
export type ReconciledEstimateAnswer = z.infer<typeof reconciledEstimateAnswerSchema>;
