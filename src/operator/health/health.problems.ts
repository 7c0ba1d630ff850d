import type { ProblemKind } from '../../shared/problem';

export const healthProblems = {
  notReady: { code: 'ERR_NOT_READY', status: 503, title: 'Not ready for work' },
} as const satisfies Record<string, ProblemKind>;
