import type { ProblemKind } from '../../shared/problem';

export const taxProblems = {
  full: {
    code: 'ERR_TAX_BULKHEAD_SATURATED',
    status: 503,
    title: 'All permits of the tax lane are in use',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>;
