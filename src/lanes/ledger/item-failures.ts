import { type FailedOutcome, ITEM_CODES, type ItemCode } from './ledger';

/** What an item is told under each code, and whether the same item may succeed later, unchanged (contract 11). */
export const itemFailures = {
  ERR_MALFORMED_ITEM: { detail: 'The item is not of the form that the ledger takes.', retryable: false },
  ERR_INVALID_TEXT: { detail: 'A text is too long, or holds NUL or a lone surrogate.', retryable: false },
  ERR_INVALID_MERCHANT_ID: { detail: 'A merchant id holds no colon.', retryable: false },
  ERR_FORBIDDEN: { detail: 'The token does not speak for this merchant.', retryable: false },
  ERR_INVALID_AMOUNT: { detail: 'An amount is a positive whole number of minor units.', retryable: false },
  ERR_INVALID_TIMESTAMP: { detail: 'An instant is an RFC 3339 time with its offset.', retryable: false },
  ERR_IDEMPOTENCY_CONFLICT: {
    detail: 'Another item with this merchant_id and external_transaction_id stands in the journal.',
    retryable: false,
  },
  ERR_INVALID_ACCOUNT_ID: {
    detail: 'There is no such account to book to.',
    pointer: '/account_id',
    retryable: false,
  },
  ERR_ACCOUNT_CLOSED: { detail: 'The account is closed.', pointer: '/account_id', retryable: false },
  ERR_CURRENCY_MISMATCH: {
    detail: 'The account is kept in another currency.',
    pointer: '/currency',
    retryable: false,
  },
  ERR_STORE_UNAVAILABLE: {
    detail: 'The journal could not be reached in time; nothing was written. Send the item again.',
    retryable: true,
  },
  ERR_OUTCOME_UNKNOWN: {
    detail: 'Whether the item was written is not known yet. Send it again: its key tells.',
    retryable: true,
  },
} as const satisfies Record<ItemCode, { detail: string; pointer?: string; retryable: boolean }>;

const outcomes = Object.fromEntries(
  ITEM_CODES.map((code): [ItemCode, FailedOutcome] => [
    code,
    Object.freeze({ status: 'FAILED', code, ...itemFailures[code] }),
  ]),
) as Record<ItemCode, FailedOutcome>;

/** The outcome under a code; one object for all items, since thousands may fail alike at once. */
export function failedWith(code: ItemCode): FailedOutcome {
  return outcomes[code];
}
