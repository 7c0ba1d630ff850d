import type { ProblemKind } from '../../shared/problem';

export const databaseProblems = {
  poolExhausted: {
    code: 'ERR_DATABASE_POOL_EXHAUSTED',
    status: 503,
    title: 'No database connection came free in time',
    retryAfterSeconds: 5,
  },
  unavailable: {
    code: 'ERR_DATABASE_UNAVAILABLE',
    status: 503,
    title: 'The database of this lane does not answer',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>;
