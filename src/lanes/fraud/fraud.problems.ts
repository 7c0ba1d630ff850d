import { edgeProblems } from '../../ingress/problems';
import type { ProblemKind } from '../../shared/problem';

/** Failures of this lane, the edge's own among them where the lane finds them out (contract 7, 10). */
export const fraudProblems = {
  full: {
    code: 'ERR_FRAUD_OVERFLOW_UNAVAILABLE',
    status: 503,
    title: 'Neither a permit nor the overflow could take the evaluation',
    retryAfterSeconds: 5,
  },
  cardBusy: {
    code: 'ERR_CARD_BUSY',
    status: 503,
    title: 'The card is busy with other payments',
    retryAfterSeconds: 5,
  },
  notFound: edgeProblems.notFound,
} as const satisfies Record<string, ProblemKind>;
