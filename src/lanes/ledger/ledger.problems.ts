import { edgeProblems } from '../../ingress/problems';
import type { ProblemKind } from '../../shared/problem';

export const ledgerProblems = {
  full: {
    code: 'ERR_LEDGER_BUFFER_FULL',
    status: 429,
    title: 'The ledger has no room for these items now',
    retryAfterSeconds: 1,
  },
  notFound: edgeProblems.notFound,
  accountExists: {
    code: 'ERR_ACCOUNT_EXISTS',
    status: 409,
    title: 'There is an account of this name in another currency',
  },
} as const satisfies Record<string, ProblemKind>;
