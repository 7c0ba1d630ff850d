import { edgeProblems } from '../../ingress/problems';
import type { ProblemKind } from '../../shared/problem';

/** Failures of this lane, the edge's own among them where the lane finds them out (contract 7, 9). */
export const authorizationProblems = {
  full: {
    code: 'ERR_CARD_AUTH_BULKHEAD_SATURATED',
    status: 429,
    title: 'The card lane is full',
    retryAfterSeconds: 5,
  },
  cardBusy: {
    code: 'ERR_CARD_BUSY',
    status: 503,
    title: 'The card is busy with other authorizations',
    retryAfterSeconds: 5,
  },
  internal: edgeProblems.internal,
  notFound: edgeProblems.notFound,
  inFlight: edgeProblems.idempotencyInFlight,
  invalidState: {
    code: 'ERR_INVALID_STATE',
    status: 409,
    title: 'The state of this authorization or capture does not allow it',
  },
  exceedsRemaining: {
    code: 'ERR_AMOUNT_EXCEEDS_REMAINING',
    status: 409,
    title: 'The amount is more than is left',
  },
  noSettlementAccount: {
    code: 'ERR_NO_SETTLEMENT_ACCOUNT',
    status: 409,
    title: 'The merchant has no settlement account in this currency',
  },
} as const satisfies Record<string, ProblemKind>;
