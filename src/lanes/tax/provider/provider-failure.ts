/**
 * Why there is no tax from the provider: `late`, beyond the limit; `unreachable`, no connection, or it broke; `down`, it
 * says that it cannot (429, 5xx) or may not (401, 403); `refused`, it will not answer this order, today or tomorrow;
 * `wrong`, what it answered is no answer to this order; `aborted`, nobody waits any more.
 */
export const FAILURES = ['late', 'unreachable', 'down', 'refused', 'wrong', 'aborted'] as const;
export type FailureReason = (typeof FAILURES)[number];

/** No tax from the provider. Its words are for the log: what it sent is never part of an answer to a caller. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';

  constructor(
    readonly reason: FailureReason,
    detail: string,
    cause?: unknown,
  ) {
    super(detail, cause === undefined ? undefined : { cause });
  }
}
