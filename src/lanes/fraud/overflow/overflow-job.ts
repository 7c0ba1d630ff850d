import type { JobsOptions } from 'bullmq';
import { z } from 'zod';
import { jobRetention } from '../../../platform/queue/lane-queue';
import { COUNTRIES } from '../../../shared/country';
import { amountMinor, currency, merchantId, storableText } from '../../../shared/payment-fields';
import { parsePublicId } from '../../../shared/public-id';
import { EVALUATION_PREFIX } from '../evaluation-task';
import type { EvaluationTask, Reason, Verdict } from '../fraud';
import { DECISIONS } from '../fraud';

/** As long as the subject of a token may be. */
const CALLER_CHARACTERS_MAX = 255;

export const OVERFLOW_QUEUE = 'fraud-overflow';
export const OVERFLOW_JOB = 'fraud-evaluation';

/** Between the tries of a job that failed; the database or the lane needs time, and the job has 15 minutes. */
const RETRY_MS = 1_000;

/**
 * An evaluation that waits, as Redis keeps it and operators read it: the card is a keyed fingerprint, and so is the
 * payload. Read back as whatever somebody may have put there, hence a schema, as strict as that of requests: what the
 * database would refuse is no job, since it would be tried without end.
 */
const overflowJobSchema = z.object({
  caller: storableText(CALLER_CHARACTERS_MAX),
  payload_hash: z.hex().length(64),
  merchant_id: merchantId,
  card_fingerprint: z.hex().length(64),
  amount_minor: amountMinor,
  currency,
  country: z.string().refine((code) => COUNTRIES.has(code)),
  occurred_at: z.iso.datetime(),
});
export type OverflowJob = z.infer<typeof overflowJobSchema>;

const overflowResultSchema = z.object({
  /** What the worker did: it evaluated, found a result that was there already, or closed what had waited too long. */
  outcome: z.enum(['evaluated', 'found', 'expired']),
  score: z.number(),
  decision: z.enum(DECISIONS),
  reasons: z.array(
    z.object({
      rule: z.string(),
      points: z.number(),
      text: z.string(),
      facts: z.record(z.string(), z.union([z.number(), z.string(), z.boolean()])),
    }),
  ),
});
const keyReusedSchema = z.object({ outcome: z.literal('key_reused') });
/** The result of a job, so that it can be read in the queue. The row in the database is the authority. */
export type OverflowResult =
  | (Verdict & { readonly outcome: 'evaluated' | 'found' | 'expired' })
  /** Another payload got the result of the key while the queue could not be asked; this one gets none. */
  | { readonly outcome: 'key_reused' };
export type OverflowOutcome = OverflowResult['outcome'];

/** A job is tried until it has a result: nothing that was answered 202 is given up. */
export const overflowJobOptions = {
  ...jobRetention,
  attempts: 1_000_000_000,
  backoff: { type: 'fixed', delay: RETRY_MS, jitter: 0.5 },
  // Each failed try would add its stack to the job.
  stackTraceLimit: 1,
} as const satisfies JobsOptions;

export function overflowJobOf({ caller, payloadHash, request }: EvaluationTask): OverflowJob {
  return {
    caller,
    payload_hash: payloadHash.toString('hex'),
    merchant_id: request.merchantId,
    card_fingerprint: request.cardFingerprint,
    amount_minor: request.amountMinor,
    currency: request.currency,
    country: request.country,
    occurred_at: request.occurredAt.toISOString(),
  };
}

/** @returns the task of a job; null where this is no job of ours. */
export function evaluationTaskOf(id: string | undefined, data: unknown): EvaluationTask | null {
  const parsed = overflowJobSchema.safeParse(data);
  if (!parsed.success || id === undefined || parsePublicId(EVALUATION_PREFIX, id) === null) return null;
  const { data: job } = parsed;
  return {
    id,
    caller: job.caller,
    payloadHash: Buffer.from(job.payload_hash, 'hex'),
    request: {
      merchantId: job.merchant_id,
      cardFingerprint: job.card_fingerprint,
      amountMinor: job.amount_minor,
      currency: job.currency,
      country: job.country,
      occurredAt: new Date(job.occurred_at),
    },
  };
}

/** Whether a finished job has no verdict because its key was used for another payload. */
export function isKeyReused(result: unknown): boolean {
  return keyReusedSchema.safeParse(result).success;
}

/** @returns the verdict of a finished job; null where it has none. */
export function verdictOf(result: unknown): Verdict | null {
  const parsed = overflowResultSchema.safeParse(result);
  if (!parsed.success) return null;
  const { score, decision, reasons } = parsed.data;
  return { score, decision, reasons: reasons satisfies readonly Reason[] };
}
