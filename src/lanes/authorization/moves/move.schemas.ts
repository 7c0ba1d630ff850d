import { z } from 'zod';
import { authorizationAnswerSchema } from '../authorization.schemas';

// `z.int` takes safe integers only, so 2^53 - 1 is the largest.
const amountMinor = z.int().min(1);

export const createCaptureSchema = z.strictObject({
  amount_minor: amountMinor.describe('Up to what remains of the authorization'),
});
export type CreateCapture = z.infer<typeof createCaptureSchema>;

/** `{}` reverses all that remains; a body there must be, so that nothing is reversed by mistake. */
export const createReversalSchema = z.strictObject({
  amount_minor: amountMinor.optional().describe('Up to what remains of the authorization; left out: all of it'),
});
export type CreateReversal = z.infer<typeof createReversalSchema>;

export const createRefundSchema = z.strictObject({
  amount_minor: amountMinor.describe('Up to what was captured and not refunded yet'),
});
export type CreateRefund = z.infer<typeof createRefundSchema>;

const moveMembers = {
  authorization_id: z.string(),
  amount_minor: amountMinor,
  currency: z.string(),
  created_at: z.iso.datetime(),
};
const authorizationAfter = authorizationAnswerSchema.describe('The authorization as it was right after this');

export const captureAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, cap_…'),
  ...moveMembers,
  refunded_minor: z.int().min(0).describe('How much of this capture was refunded'),
  authorization: authorizationAfter,
});
export type CaptureAnswer = z.infer<typeof captureAnswerSchema>;

export const reversalAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, rev_…'),
  ...moveMembers,
  authorization: authorizationAfter,
});
export type ReversalAnswer = z.infer<typeof reversalAnswerSchema>;

export const refundAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, ref_…'),
  capture_id: z.string(),
  ...moveMembers,
  authorization: authorizationAfter,
});
export type RefundAnswer = z.infer<typeof refundAnswerSchema>;
