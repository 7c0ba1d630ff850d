import type { ProblemKind } from '../../shared/problem';

export const fraudProblems = {
  full: {
    code: 'ERR_FRAUD_OVERFLOW_UNAVAILABLE',
    status: 503,
    title: 'Neither a permit nor the overflow could take the evaluation',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>;
