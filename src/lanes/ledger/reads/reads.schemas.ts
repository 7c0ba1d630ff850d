import { z } from 'zod';
import { isStorableText, TEXT_LENGTH_MAX } from '../items/item-form';

/** The last bigint. */
const ID_MAX = 9_223_372_036_854_775_807n;

function text(lengthMax: number): z.ZodString {
  const fault = `Must be 1 to ${lengthMax} characters of well-formed Unicode without NUL`;
  return z.string().refine((value) => isStorableText(value, lengthMax), fault);
}

export const findEntriesQuery = z
  .strictObject({
    account_id: text(TEXT_LENGTH_MAX.account_id).optional().describe('All entries of a merchant’s account, in pages'),
    merchant_id: text(TEXT_LENGTH_MAX.merchant_id)
      .optional()
      .describe('With external_transaction_id: the entry of both'),
    external_transaction_id: text(TEXT_LENGTH_MAX.external_transaction_id).optional(),
    cursor: z
      .string()
      .regex(/^\d{1,19}$/, { error: 'Must be the next_cursor of an answer', abort: true })
      .refine((value) => BigInt(value) <= ID_MAX, 'Must be the next_cursor of an answer')
      .optional()
      .describe('The next_cursor of the page before'),
  })
  .superRefine((query, context) => {
    const fault = (member: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [member], message });
    };
    const { account_id: accountId, merchant_id: merchantId, external_transaction_id: externalTransactionId } = query;
    if (accountId === undefined) {
      if (merchantId === undefined) fault('account_id', 'Give account_id, or merchant_id and external_transaction_id');
      else if (externalTransactionId === undefined) fault('external_transaction_id', 'Missing beside merchant_id');
    } else if (merchantId !== undefined || externalTransactionId !== undefined) {
      fault('account_id', 'Give account_id, or merchant_id and external_transaction_id, not both');
    } else if (accountId.startsWith('CLEARING-')) {
      fault('account_id', 'A clearing account has the entries of all others: ask for those');
    }
  });
export type FindEntries = z.infer<typeof findEntriesQuery>;

export const entrySchema = z.strictObject({
  ledger_entry_id: z.string().describe('Opaque, ent_…'),
  merchant_id: z.string(),
  external_transaction_id: z.string(),
  account_id: z.string(),
  type: z.enum(['SALE', 'REFUND']),
  debit_account_id: z.string(),
  credit_account_id: z.string(),
  amount_minor: z.int(),
  currency: z.string(),
  occurred_at: z.iso.datetime(),
  recorded_at: z.iso.datetime(),
});
export type EntryAnswer = z.infer<typeof entrySchema>;

export const entriesAnswerSchema = z.strictObject({
  entries: z.array(entrySchema).describe('In the journal’s own order'),
  next_cursor: z
    .string()
    .nullable()
    .describe('Where to go on. Null where nothing has come since: ask again later under the cursor before'),
});
export type EntriesAnswer = z.infer<typeof entriesAnswerSchema>;

const sum = z.string().describe('A decimal string: it can pass 2^53');

export const trialBalanceSchema = z.strictObject({
  balanced: z
    .boolean()
    .describe('Debits equal credits in every currency, and every materialised balance the sum of its rows'),
  currencies: z.array(z.strictObject({ currency: z.string(), debits: sum, credits: sum })),
});
