import type { ProblemKind } from '../../shared/problem';

export const ledgerProblems = {
  full: {
    code: 'ERR_LEDGER_BUFFER_FULL',
    status: 429,
    title: 'The ledger has no room for these items now',
    retryAfterSeconds: 1,
  },
} as const satisfies Record<string, ProblemKind>;
