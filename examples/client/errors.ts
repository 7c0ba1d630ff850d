import { type Problem } from './problem';

/** Why no further attempt was made. */
export type GaveUp = 'not_retryable' | 'retries_exhausted' | 'deadline';

/** The platform refused, and nothing was done under this key. The problem says why. */
export class PaymentRefusedError extends Error {
  override readonly name = 'PaymentRefusedError';

  constructor(
    readonly problem: Problem,
    /** Requests that were sent, the first one included. */
    readonly attempts: number,
    readonly gaveUp: GaveUp,
  ) {
    super(`${problem.code}: ${problem.detail ?? problem.title}`);
  }
}

/**
 * The operation may or may not have been done. Nobody may be told either; find out later under the same key, by
 * looking it up or by sending the same request again. A new key could do it twice.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';

  constructor(
    readonly key: string,
    readonly attempts: number,
    cause: unknown,
  ) {
    super(`the outcome of ${key} is not known after ${attempts} attempts`, { cause });
  }
}
