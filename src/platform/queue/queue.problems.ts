import type { ProblemKind } from '../../shared/problem';

/** What a producer meets; a lane that answers in words of its own catches these and says them. */
export const queueProblems = {
  unavailable: {
    code: 'ERR_QUEUE_UNAVAILABLE',
    status: 503,
    title: 'The job queue of this lane does not answer',
    retryAfterSeconds: 5,
  },
  full: {
    code: 'ERR_QUEUE_FULL',
    status: 503,
    title: 'Too many jobs of this lane are waiting',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>;
