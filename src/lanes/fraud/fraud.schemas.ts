import { z } from 'zod';
import { COUNTRIES } from '../../shared/country';
import { amountMinor, cardToken, currency, merchantId } from '../../shared/payment-fields';
import { DECISIONS } from './fraud';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Clocks of callers run ahead by seconds; more is a mistake, and would hide the payment from the windows until then. */
const AHEAD_MS_MAX = 5 * MINUTE_MS;
/** An answer is kept for 7 days, and its request must stay valid for as long; beyond this there is no partition. */
const BEHIND_MS_MAX = 30 * DAY_MS;

/** What is wrong with the moment of a payment, given as RFC 3339; null where nothing is. */
export function occurredAtFault(text: string, nowMs: number): string | null {
  const occurredMs = Date.parse(text);
  if (Number.isNaN(occurredMs)) return 'must be an instant';
  if (occurredMs > nowMs + AHEAD_MS_MAX) return 'must not be more than 5 minutes ahead';
  if (occurredMs < nowMs - BEHIND_MS_MAX) return 'must not be more than 30 days ago';
  return null;
}

const occurredAt = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 time with its offset', abort: true })
  .check(({ value, issues }) => {
    const fault = occurredAtFault(value, Date.now());
    if (fault !== null) issues.push({ code: 'custom', message: fault, input: value });
  });

export const createEvaluationSchema = z.strictObject({
  merchant_id: merchantId.describe('Who is to be paid'),
  card_token: cardToken.describe('Kept as a keyed fingerprint only'),
  amount_minor: amountMinor,
  currency,
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, { error: 'must be two upper-case letters', abort: true })
    .refine((code) => COUNTRIES.has(code), 'must be an ISO 3166-1 alpha-2 code')
    .describe('Where the payment is made'),
  occurred_at: occurredAt
    .optional()
    .describe('When the payment was made, the time of receipt if left out: the end of every velocity window'),
});
export type CreateEvaluation = z.infer<typeof createEvaluationSchema>;

const reasonSchema = z.strictObject({
  rule: z.string(),
  points: z.int(),
  text: z.string(),
  facts: z
    .record(z.string(), z.union([z.number(), z.string(), z.boolean()]))
    .describe('What the rule looked at; amounts are masked'),
});

export const completedAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, evl_…'),
  status: z.literal('COMPLETED'),
  score: z.int().min(0).max(100),
  decision: z.enum(DECISIONS),
  reasons: z.array(reasonSchema),
});

export const queuedAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, evl_…'),
  status: z.literal('QUEUED'),
  score: z.null(),
  decision: z.literal('REVIEW'),
  reasons: z.array(reasonSchema).max(0),
});

export const evaluationAnswerSchema = z.union([completedAnswerSchema, queuedAnswerSchema]);
export type EvaluationAnswer = z.infer<typeof evaluationAnswerSchema>;
