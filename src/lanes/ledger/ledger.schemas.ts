import { z } from 'zod';
import { AMOUNT_MINOR_MAX } from '../../shared/money';
import { ITEM_CODES } from './ledger';
import { TEXT_LENGTH_MAX } from './items/item-form';

/**
 * For the API reference. Bodies of the doors are read by `items/`, which judges each item by itself: a schema would
 * refuse a whole batch for one of them.
 */
export const itemSchema = z.strictObject({
  item_id: z.string().min(1).max(TEXT_LENGTH_MAX.item_id).describe('The sender’s own; comes back in the result'),
  merchant_id: z.string().min(1).max(TEXT_LENGTH_MAX.merchant_id).describe('Without a colon'),
  external_transaction_id: z
    .string()
    .min(1)
    .max(TEXT_LENGTH_MAX.external_transaction_id)
    .describe('With the merchant it is the item’s idempotency key, for ever'),
  account_id: z.string().min(1).max(TEXT_LENGTH_MAX.account_id).describe('The merchant’s account, no clearing account'),
  type: z.enum(['SALE', 'REFUND']).describe('A SALE credits the account, a REFUND debits it'),
  amount_minor: z.int().min(1).max(AMOUNT_MINOR_MAX).describe('Written as an integer: `1.0` and `1e2` are refused'),
  currency: z.string().describe('ISO 4217; the account’s'),
  occurred_at: z.iso.datetime({ offset: true }).describe('RFC 3339 with its zone, exact to the microsecond'),
});

/** @param itemsMax more than so many are 413. */
export function batchSchema(itemsMax: number): z.ZodType {
  return z.strictObject({ items: z.array(itemSchema).min(1).max(itemsMax) });
}

const itemErrorSchema = z.strictObject({
  code: z.enum(ITEM_CODES),
  detail: z.string(),
  pointer: z.string().optional().describe('JSON Pointer into the item'),
  retryable: z.boolean().describe('The same item may succeed later, unchanged'),
});

const resultMembers = {
  item_id: z.string().nullable().describe('Null where the item has no readable one'),
  status: z.enum(['COMMITTED', 'FAILED']),
  ledger_entry_id: z.string().optional().describe('Opaque, ent_…; of a duplicate that of the first'),
  duplicate: z.boolean().optional().describe('Only where true: the key was in the journal with this payload'),
};

export const entryResultSchema = z.strictObject(resultMembers);

export const batchResultSchema = z.strictObject({
  batch_id: z.string().describe('Opaque, btc_…'),
  total_items: z.int(),
  successful_count: z.int().describe('Duplicates among them'),
  failed_count: z.int(),
  duplicate_count: z.int(),
  results: z
    .array(z.strictObject({ index: z.int(), ...resultMembers, error: itemErrorSchema.optional() }))
    .describe('One for each item, in request order'),
});
