import { z } from 'zod';
import { isCurrency } from '../../../shared/money';
import { isStorableText, TEXT_LENGTH_MAX } from '../items/item-form';

const LENGTH_MAX = TEXT_LENGTH_MAX.account_id;

export const openAccountSchema = z.strictObject({
  account_id: z
    .string()
    .refine((text) => isStorableText(text, LENGTH_MAX), {
      error: `Must be 1 to ${LENGTH_MAX} characters of well-formed Unicode without NUL`,
      abort: true,
    })
    .refine((text) => !text.startsWith('CLEARING-'), 'Clearing accounts come with their currency')
    .describe('The name that items give'),
  currency: z
    .string()
    .refine(isCurrency, 'Must be an ISO 4217 code that has a minor unit')
    .describe('ISO 4217; an account has one, for ever'),
});
export type OpenAccount = z.infer<typeof openAccountSchema>;

const sum = z.string().describe('Minor units as a decimal string: it can pass 2^53');

export const accountAnswerSchema = z.strictObject({
  account_id: z.string(),
  currency: z.string(),
  status: z.enum(['OPEN', 'CLOSED']),
  balance: sum.describe('Credits minus debits'),
  debits: sum,
  credits: sum,
  created_at: z.iso.datetime(),
});
export type AccountAnswer = z.infer<typeof accountAnswerSchema>;
