import { edgeProblems } from '../../../ingress/problems';
import type { ProblemKind } from '../../../shared/problem';
import type { ItemCode } from '../ledger';

/** A client comes back after the database has had a moment. */
const STORE_RETRY_SECONDS = 5;

/**
 * What a single item's failure is over HTTP, at the door that takes one (contract 11); in a batch the code stands in the
 * item's result. A merchant outside the claim is 403 as on any other route (contract 4.1).
 */
export const itemProblems = {
  ERR_MALFORMED_ITEM: { code: 'ERR_MALFORMED_ITEM', status: 422, title: 'The item has not the members of one' },
  ERR_INVALID_TEXT: { code: 'ERR_INVALID_TEXT', status: 422, title: 'A text of the item cannot be stored' },
  ERR_INVALID_MERCHANT_ID: { code: 'ERR_INVALID_MERCHANT_ID', status: 422, title: 'This is no merchant id' },
  ERR_FORBIDDEN: edgeProblems.forbidden,
  ERR_INVALID_AMOUNT: { code: 'ERR_INVALID_AMOUNT', status: 422, title: 'This is no amount in minor units' },
  ERR_INVALID_TIMESTAMP: { code: 'ERR_INVALID_TIMESTAMP', status: 422, title: 'This is no instant' },
  ERR_IDEMPOTENCY_CONFLICT: {
    code: 'ERR_IDEMPOTENCY_CONFLICT',
    status: 422,
    title: 'The merchant’s transaction is in the journal with another payload',
  },
  ERR_INVALID_ACCOUNT_ID: { code: 'ERR_INVALID_ACCOUNT_ID', status: 422, title: 'There is no such account to name' },
  ERR_ACCOUNT_CLOSED: { code: 'ERR_ACCOUNT_CLOSED', status: 422, title: 'The account is closed' },
  ERR_CURRENCY_MISMATCH: { code: 'ERR_CURRENCY_MISMATCH', status: 422, title: 'The account has another currency' },
  ERR_STORE_UNAVAILABLE: {
    code: 'ERR_STORE_UNAVAILABLE',
    status: 503,
    title: 'The journal could not be written',
    retryAfterSeconds: STORE_RETRY_SECONDS,
  },
  ERR_OUTCOME_UNKNOWN: {
    code: 'ERR_OUTCOME_UNKNOWN',
    status: 503,
    title: 'It is not known whether the item was committed',
    retryAfterSeconds: STORE_RETRY_SECONDS,
  },
} as const satisfies { readonly [Code in ItemCode]: ProblemKind & { readonly code: Code } };
