import { edgeProblems } from '../../ingress/problems';
import type { ProblemKind } from '../../shared/problem';

/** Failures of this lane, the edge's own among them where the lane finds them out (contract 7, 10). */
export const taxProblems = {
  full: {
    code: 'ERR_TAX_BULKHEAD_SATURATED',
    status: 503,
    title: 'All permits of the tax lane are in use',
    retryAfterSeconds: 5,
  },
  providerUnavailable: {
    code: 'ERR_TAX_PROVIDER_UNAVAILABLE',
    status: 503,
    title: 'The tax provider gives no usable answer',
    retryAfterSeconds: 5,
  },
  untestedCompensation: {
    code: 'ERR_UNTESTED_COMPENSATION_REJECTED',
    status: 503,
    title: 'The estimates of this lane are not certified, so it does not serve',
    retryAfterSeconds: 5,
  },
  notFound: edgeProblems.notFound,
} as const satisfies Record<string, ProblemKind>;
