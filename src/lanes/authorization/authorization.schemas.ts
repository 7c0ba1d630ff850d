import { z } from 'zod';
import { amountMinor, cardToken, currency, merchantId } from '../../shared/payment-fields';

export const createAuthorizationSchema = z.strictObject({
  merchant_id: merchantId.describe('Who is to be paid. An unknown one is declined with 03'),
  card_token: cardToken.describe('An unknown one is declined with 14'),
  amount_minor: amountMinor,
  currency,
});
export type CreateAuthorization = z.infer<typeof createAuthorizationSchema>;

export const findAuthorizationQuery = z.strictObject({
  idempotency_key: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .describe('The key of an earlier POST of the same caller: tells what became of it'),
});
export type FindAuthorization = z.infer<typeof findAuthorizationQuery>;

const minorUnits = z.int().min(0);

export const authorizationAnswerSchema = z.strictObject({
  id: z.string().describe('Opaque, aut_…'),
  status: z.enum(['APPROVED', 'DECLINED', 'PARTIALLY_CAPTURED', 'CAPTURED', 'REVERSED', 'EXPIRED']),
  response_code: z
    .enum(['00', '03', '14', '41', '51', '54', '57', '61', '62'])
    .describe(
      'ISO 8583: 00 approved, 03 unknown merchant, 14 unknown card, 41 lost, 51 over open-to-buy, 54 expired, ' +
        '57 wrong currency, 61 over the per-transaction limit, 62 blocked',
    ),
  merchant_id: z.string(),
  amount_minor: minorUnits,
  captured_minor: minorUnits,
  reversed_minor: minorUnits,
  expired_minor: minorUnits,
  refunded_minor: minorUnits,
  currency: z.string(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
});
export type AuthorizationAnswer = z.infer<typeof authorizationAnswerSchema>;
