import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Exchange } from './exchange';
import type { PaymentError } from '../shared/problem';

/** A reason to refuse, or null to go on. A promise only where a token must be verified or room waited for. */
export type Verdict = PaymentError | null;

export interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly exchange: Exchange;
}

export type Check = (visit: Visit) => Verdict | Promise<Verdict>;

/**
 * The places in which a request may be refused before its body is read, in this order (contract 4.1). What comes
 * after is Fastify's: the body (408 too slow, 413 too long, 415, 400 malformed, 400 not valid), then
 * {@link ADMISSION_ORDER}.
 */
export const HEADERS_ORDER = [
  'draining', // 503
  'route', // 404, 405
  'identity', // 401
  'scope', // 403
  'retry_headers', // 400
  'retry_guard', // 429, what can be judged by the key
  'declared_length', // 413
  'ledger_bounds', // 429
] as const;

/** The places between a valid body and the permit, in the lane's interceptor; lane full comes next. */
export const ADMISSION_ORDER = [
  'merchant', // 403
  'retry_guard_content', // 429, what can be judged by the body
] as const;

export type HeadersPlace = (typeof HEADERS_ORDER)[number];
export type AdmissionPlace = (typeof ADMISSION_ORDER)[number];

/** An admission check is synchronous: nothing may come between a valid body and its permit. */
export type AdmissionCheck = (visit: Pick<Visit, 'request' | 'exchange'>) => Verdict;

export interface Step<Place extends string, C> {
  readonly place: Place;
  readonly check: C;
}

/** One ordered list out of the checks of each place. A place without checks is ready for some. */
export function arrange<Place extends string, C>(
  order: readonly Place[],
  checks: Readonly<Record<Place, readonly C[]>>,
): readonly Step<Place, C>[] {
  return order.flatMap((place) => checks[place].map((check) => ({ place, check })));
}

/**
 * Walks the steps until one refuses. Calls `done` before it returns unless a step needs to wait, so that a request
 * whose token is known passes without a promise.
 */
export function walk(
  steps: readonly Step<string, Check>[],
  visit: Visit,
  done: (error: Error | null) => void,
  from = 0,
): void {
  for (let index = from; index < steps.length; index += 1) {
    const verdict = (steps[index] as Step<string, Check>).check(visit);
    if (verdict === null) continue;
    if (verdict instanceof Promise) {
      verdict.then(
        (later) => (later === null ? walk(steps, visit, done, index + 1) : done(later)),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
      return;
    }
    done(verdict);
    return;
  }
  done(null);
}
