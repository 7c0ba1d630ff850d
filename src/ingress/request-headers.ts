import type { IncomingMessage } from 'node:http';
import type { RequestFault } from '../shared/problem';

/** How a caller's retries are judged (contract 8). */
export type RetryGuardMode = 'default' | 'strict' | 'observe';

const PRINTABLE_KEY = /^[\x20-\x7e]{1,255}$/;
/** `Retry-Attempt` is 0 for a first try; Envoy counts the same tries from 1. */
const RETRY_ATTEMPT_MAX = 1000;
const WHOLE_NUMBER = /^(?:0|[1-9]\d{0,3})$/;

export interface RetryHeaders {
  /** Null where it is missing or the route does not demand it. */
  readonly idempotencyKey: string | null;
  /** The higher of what the two attempt headers say, 0 = a first try; null where neither is there. */
  readonly declaredAttempt: number | null;
  readonly retryAttemptGiven: boolean;
  readonly faults: readonly RequestFault[];
}

const NO_FAULTS: readonly RequestFault[] = [];

/**
 * Whether a header came more than once. Node joins repetitions with `, ` (and drops those of some headers), so that
 * one value and two cannot be told apart in `headers`.
 */
export function isRepeated(request: IncomingMessage, name: string): boolean {
  let count = 0;
  const { rawHeaders } = request;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] as string;
    if (header.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

function keyFault(request: IncomingMessage, key: string): RequestFault | null {
  const pointer = '/headers/idempotency-key';
  if (key.includes(', ') && isRepeated(request, 'idempotency-key')) return { pointer, detail: 'Given more than once' };
  if (PRINTABLE_KEY.test(key)) return null;
  return { pointer, detail: 'Must be 1 to 255 printable ASCII characters' };
}

function wholeNumber(value: string, min: number, max: number): number | null {
  if (!WHOLE_NUMBER.test(value)) return null;
  const number = Number(value);
  return number >= min && number <= max ? number : null;
}

/** The headers that tell a retry from a new request, with every fault in them (contract 8). */
export function readRetryHeaders(request: IncomingMessage, keyDemanded: boolean): RetryHeaders {
  const { headers } = request;
  // An empty key tells no retry from a new request: it is missing for all purposes.
  const key = keyDemanded ? (headers['idempotency-key'] as string | undefined) || null : null;
  const retryAttempt = headers['retry-attempt'] as string | undefined;
  const envoyCount = headers['x-envoy-attempt-count'] as string | undefined;
  let faults = NO_FAULTS;
  const report = (fault: RequestFault): void => {
    faults = [...faults, fault];
  };

  const fault = key === null ? null : keyFault(request, key);
  if (fault !== null) report(fault);
  let declaredAttempt: number | null = null;
  if (retryAttempt !== undefined) {
    declaredAttempt = wholeNumber(retryAttempt, 0, RETRY_ATTEMPT_MAX);
    if (declaredAttempt === null) {
      report({ pointer: '/headers/retry-attempt', detail: `Must be a whole number from 0 to ${RETRY_ATTEMPT_MAX}` });
    }
  }
  if (envoyCount !== undefined) {
    const count = wholeNumber(envoyCount, 1, RETRY_ATTEMPT_MAX + 1);
    if (count === null) {
      const detail = `Must be a whole number from 1 to ${RETRY_ATTEMPT_MAX + 1}`;
      report({ pointer: '/headers/x-envoy-attempt-count', detail });
    } else {
      declaredAttempt = Math.max(declaredAttempt ?? 0, count - 1);
    }
  }
  return { idempotencyKey: key, declaredAttempt, retryAttemptGiven: retryAttempt !== undefined, faults };
}
