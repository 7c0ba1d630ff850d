import { hash } from 'node:crypto';
import { type Caller, mayActFor } from '../../../ingress/caller';
import { AMOUNT_MINOR_MAX, isCurrency } from '../../../shared/money';
import type { EntryType, FailedOutcome, ItemCode, LedgerItem } from '../ledger';
import { microsOfInstant } from './instant';

/** The members of an item, as JSON writes them; exactly these, each once (contract 11). */
export const ITEM_MEMBERS = [
  'item_id',
  'merchant_id',
  'external_transaction_id',
  'account_id',
  'type',
  'amount_minor',
  'currency',
  'occurred_at',
] as const;
export type ItemMember = (typeof ITEM_MEMBERS)[number];

/** An item whose members are all there, once, and of the right JSON type. */
export type WrittenItem = Record<Exclude<ItemMember, 'amount_minor'>, string> & {
  /** The number's own characters: what was written, not what a parser would make of it. */
  amount_minor: string;
};

/** The longest texts, in UTF-16 units; the columns hold as many. */
export const TEXT_LENGTH_MAX = {
  item_id: 128,
  merchant_id: 64,
  external_transaction_id: 128,
  account_id: 64,
} as const satisfies Partial<Record<ItemMember, number>>;
const TEXT_MEMBERS = Object.keys(TEXT_LENGTH_MAX) as (keyof typeof TEXT_LENGTH_MAX)[];

/** A positive integer without fraction, exponent or sign; JSON has no leading zeros. */
const POSITIVE_INTEGER = /^[1-9]\d{0,15}$/;

export function itemFault(code: ItemCode, detail: string, pointer: string): FailedOutcome {
  return { status: 'FAILED', code, detail, pointer, retryable: false };
}

/** Whether it is text that can be stored and given back as it was sent. */
export function isStorableText(text: string, lengthMax: number): boolean {
  return text.length > 0 && text.length <= lengthMax && text.isWellFormed() && !text.includes('\0');
}

/**
 * What is wrong with the form of an item, the first by contract 11's order of precedence; the item itself where
 * nothing is. Faults of state are the flush's to find, behind the key: what the key stands for, and what the account is,
 * a clearing account among the rest, since a key that is in the journal is answered from there first.
 */
export function judgeForm(written: WrittenItem, caller: Caller): LedgerItem | FailedOutcome {
  const { merchant_id: merchantId, external_transaction_id: externalTransactionId, account_id: accountId } = written;
  if (!isEntryType(written.type)) return itemFault('ERR_MALFORMED_ITEM', 'Must be SALE or REFUND', '/type');
  if (!isCurrency(written.currency)) {
    return itemFault('ERR_MALFORMED_ITEM', 'Must be an ISO 4217 code that has a minor unit', '/currency');
  }
  const textFault = faultOfText(written);
  if (textFault !== null) return textFault;
  if (merchantId.includes(':')) {
    return itemFault('ERR_INVALID_MERCHANT_ID', 'Must not contain a colon', '/merchant_id');
  }
  if (!mayActFor(caller, merchantId)) {
    return itemFault('ERR_FORBIDDEN', 'Not among the merchants of the token', '/merchant_id');
  }
  const amountMinor = POSITIVE_INTEGER.test(written.amount_minor) ? Number(written.amount_minor) : 0;
  if (amountMinor < 1 || amountMinor > AMOUNT_MINOR_MAX) {
    const detail = `Must be an integer from 1 to ${AMOUNT_MINOR_MAX}, written without sign, fraction or exponent`;
    return itemFault('ERR_INVALID_AMOUNT', detail, '/amount_minor');
  }
  const occurredAtMicros = microsOfInstant(written.occurred_at);
  if (occurredAtMicros === null) {
    const detail = 'Must be an RFC 3339 date-time with its zone, exact to the microsecond, from 2000 to 2099';
    return itemFault('ERR_INVALID_TIMESTAMP', detail, '/occurred_at');
  }
  return {
    merchantId,
    externalTransactionId,
    accountId,
    type: written.type,
    amountMinor,
    currency: written.currency,
    occurredAtMicros,
    idempotencyKey: hash('sha256', `${merchantId}:${externalTransactionId}`, 'hex'),
  };
}

function isEntryType(type: string): type is EntryType {
  return type === 'SALE' || type === 'REFUND';
}

function faultOfText(written: WrittenItem): FailedOutcome | null {
  for (const member of TEXT_MEMBERS) {
    const lengthMax = TEXT_LENGTH_MAX[member];
    if (isStorableText(written[member], lengthMax)) continue;
    const detail = `Must be 1 to ${lengthMax} characters of well-formed Unicode without NUL`;
    return itemFault('ERR_INVALID_TEXT', detail, `/${member}`);
  }
  // Of another length it is no instant, which is another code; but no text of an item may hold these.
  const { occurred_at: occurredAt } = written;
  if (occurredAt.isWellFormed() && !occurredAt.includes('\0')) return null;
  return itemFault('ERR_INVALID_TEXT', 'Must be well-formed Unicode without NUL', '/occurred_at');
}
