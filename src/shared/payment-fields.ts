import { z } from 'zod';
import { isCurrency } from './money';

/** Members that payments have in every lane, so that they mean the same in each. */

/** Text that PostgreSQL stores as it was sent: no NUL, no lone surrogate. */
export function storableText(lengthMax: number): z.ZodString {
  return z
    .string()
    .min(1)
    .max(lengthMax)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must be well-formed Unicode without NUL');
}

/** A colon would make the ledger's key, merchant_id ":" external_transaction_id, ambiguous (contract 11). */
export const merchantId = storableText(64).refine((text) => !text.includes(':'), 'must not contain a colon');

export const cardToken = storableText(128);

/** `z.int` takes safe integers only, so 2^53 - 1 is the largest. */
export const amountMinor = z
  .int()
  .min(1)
  .describe('In minor units of the currency: 1234 is 12.34 USD, 1234 JPY, 1.234 KWD');

export const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, { error: 'must be three upper-case letters', abort: true })
  .refine(isCurrency, 'must be an ISO 4217 code that has a minor unit');
