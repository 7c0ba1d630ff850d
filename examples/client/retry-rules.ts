import { type Problem } from './problem';

/** First try plus three: a fourth retry of a key within 60 s is refused by the platform's guard anyway. */
export const RETRIES_MAX = 3;
/** Where an answer that may be retried does not say when, as a proxy's own 503. */
const RETRY_AFTER_S_DEFAULT = 5;
const JITTER_S_DEFAULT = 1;
/** An answer that asks for more is obeyed by giving up: no checkout waits minutes. */
const RETRY_AFTER_S_MAX = 60;

/**
 * - `refused`: not done, and sending it again would change nothing.
 * - `refused_for_now`: not done; send it again later under the same key.
 * - `unknown`: perhaps done; find out before anything else.
 * - `failed`: perhaps done; find out, but do not send it again.
 */
export type Verdict = 'done' | 'refused' | 'refused_for_now' | 'unknown' | 'failed';

export function judge(status: number, code: string): Verdict {
  if (status >= 200 && status < 300) return 'done';
  switch (status) {
    case 408:
    case 425:
    case 429:
      return 'refused_for_now';
    case 503:
      // The lane's database went away in the middle: the commit may have happened.
      return code === 'ERR_DATABASE_UNAVAILABLE' ? 'unknown' : 'refused_for_now';
    case 409:
      // Every other 409 is about the state of the money, and waiting does not mend it.
      return code === 'ERR_IDEMPOTENCY_IN_FLIGHT' ? 'refused_for_now' : 'refused';
    case 502:
    case 504:
      return 'unknown';
    case 500:
      return 'failed';
    default:
      return status >= 500 ? 'failed' : 'refused';
  }
}

/**
 * How long to wait before the next attempt: what the answer asks for, plus a uniform share of its jitter, so that
 * callers refused in the same instant do not come back in the same instant. Null: longer than anyone should wait.
 */
export function waitMs(problem: Problem, retryAfter: string | null, random: () => number): number | null {
  const header = retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null;
  const afterS = header ?? problem.retry?.after_seconds ?? RETRY_AFTER_S_DEFAULT;
  if (afterS > RETRY_AFTER_S_MAX) return null;
  const jitterS = Math.min(problem.retry?.jitter_seconds ?? JITTER_S_DEFAULT, RETRY_AFTER_S_MAX);
  return (afterS + random() * jitterS) * 1_000;
}

/** After a lost connection nobody said when; the platform's own shortest wait is one second. */
export const noAnswerProblem: Problem = {
  type: 'about:blank',
  title: 'no answer',
  status: 0,
  code: 'NO_ANSWER',
  retry: { after_seconds: 1, max_attempts: RETRIES_MAX, jitter_seconds: 1 },
};
