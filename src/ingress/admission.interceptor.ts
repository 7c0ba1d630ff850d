import { Inject, Injectable, Optional } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  Bulkhead,
  BulkheadRefusedError,
  ExecutionTimeoutError,
  type Execution,
  type RefusalReason,
} from '../bulkhead/bulkhead';
import { isConnectionLoss } from '../platform/database/driver-errors';
import { unavailable } from '../platform/database/slot-queue';
import { PaymentError, type ProblemKind } from '../shared/problem';
import { admissionChecks } from './checks';
import { exchangeOf, type Exchange } from './exchange';
import { ADMISSION_ORDER, arrange } from './pipeline';
import { edgeProblems } from './problems';

/** The lane's own bulkhead, provided by its module. */
export const BULKHEAD = Symbol('BULKHEAD');
/** The lane's {@link LaneAdmission}, provided by its module. */
export const LANE_ADMISSION = Symbol('LANE_ADMISSION');

/** The lane's {@link StandIn}, provided by the module of a lane that has one. */
export const STAND_IN = Symbol('STAND_IN');

/** A failure that a lane may answer in a better way. */
export interface Failed {
  readonly failure: PaymentError;
  /** `failed`: the work was admitted, and ended with a 503 or 504 of its own. */
  readonly reason: 'full' | 'queue_timeout' | 'execution_timeout' | 'failed';
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * What a lane answers where it is full, and in place of a 503 or 504 (contract 10: an overflow that answers later, an
 * estimate that somebody certified). Asked only while somebody waits for the answer, and neither while draining nor for
 * what was refused before admission.
 */
export interface StandIn {
  /**
   * @returns the answer to send instead; it may have set the reply's status and headers.
   * @throws PaymentError what to answer otherwise: the failure itself, or one with more members.
   */
  answer(failed: Failed): unknown;
}

/** What admission must know of a lane. */
export interface LaneAdmission {
  readonly lane: string;
  /** The answer when the lane is full, or the wait in its queue was too long; carries `Retry-After`. */
  readonly full: ProblemKind;
  /** A client that goes aborts its call (tax); without it the work runs to its end (contract 4.9). */
  readonly abortWhenAbandoned?: boolean;
  /**
   * Told of outcomes that the bulkhead has not seen, so that its observer and this together count each one once:
   * a client that went before admission, and work that found no connection.
   */
  readonly onRejected?: (reason: 'client_abort' | 'pool_exhausted') => void;
  /** From the body's last byte to the end of a full lane's refusal. */
  readonly onShed?: (shedMs: number) => void;
  /**
   * Slows the lane for drills, inside its permit; null when there is nothing to wait for. Where the route demands an
   * idempotency key the lane's coordinator waits for it instead, once it knows the key.
   */
  readonly beforeWork?: () => Promise<void> | null;
}

const POOL_EXHAUSTED = 'ERR_DATABASE_POOL_EXHAUSTED';
const steps = arrange(ADMISSION_ORDER, admissionChecks);

/**
 * Contract 4.2 and 4.7: takes the permit when everything that can be refused has been, and before any side effect.
 * The permit comes back when the work's own promise settles, which no disconnect and no time-out changes.
 *
 * `LaneRoute` puts it directly around the handler of every route of a lane. Nest's own chain of interceptors would do
 * the same through a dozen observables: 20 KB of garbage and a seventh of all CPU of an authorization (bench/README.md).
 */
@Injectable()
export class AdmissionInterceptor {
  readonly #bulkhead: Bulkhead;
  readonly #lane: LaneAdmission;
  readonly #standIn: StandIn | null;
  readonly #options: { readonly abortWhenAbandoned: boolean };

  constructor(
    @Inject(BULKHEAD) bulkhead: Bulkhead,
    @Inject(LANE_ADMISSION) lane: LaneAdmission,
    @Optional() @Inject(STAND_IN) standIn: StandIn | null = null,
  ) {
    this.#bulkhead = bulkhead;
    this.#lane = lane;
    this.#standIn = standIn ?? null;
    this.#options = { abortWhenAbandoned: lane.abortWhenAbandoned ?? false };
  }

  /** @throws PaymentError, BulkheadRefusedError or whatever `handler` throws. */
  async intercept(request: FastifyRequest, reply: FastifyReply, handler: () => unknown): Promise<unknown> {
    const exchange = exchangeOf(request);
    const visit = { request, exchange };
    for (const { check } of steps) {
      const refusal = check(visit);
      if (refusal !== null) throw refusal;
    }
    // Between its body and here the client may have gone already; its `close` has been and will not come again.
    if (exchange.ended) {
      this.#lane.onRejected?.('client_abort');
      throw new BulkheadRefusedError(this.#lane.lane, 'client_abort');
    }

    const entry = this.#bulkhead.enter((execution) => this.#work(execution, exchange, handler), this.#options);
    exchange.entry = entry;
    // It half-closed while its token was looked at; where a permit is free the work has begun by then.
    if (exchange.halfClosed) setImmediate(() => exchange.entry?.abandon());
    try {
      return await entry.result;
    } catch (error) {
      const failure = this.#answerTo(error, exchange);
      const reason = this.#standIn === null ? null : reasonOf(error, failure, exchange);
      if (reason === null) throw failure;
      return await this.#standIn?.answer({ failure: failure as PaymentError, reason, request, reply });
    } finally {
      exchange.entry = null;
    }
  }

  #work(execution: Execution, exchange: Exchange, handler: () => unknown): unknown {
    exchange.execution = execution;
    const faults = exchange.idempotencyKey === null ? (this.#lane.beforeWork?.() ?? null) : null;
    return faults === null ? handler() : faults.then(handler);
  }

  #answerTo(error: unknown, exchange: Exchange): unknown {
    if (error instanceof BulkheadRefusedError) return this.#refusal(error.reason, exchange) ?? error;
    if (error instanceof ExecutionTimeoutError) {
      return new PaymentError(
        edgeProblems.executionTimeout,
        'The work did not end within its limit and may still take effect: the same request under its key tells.',
      );
    }
    // A client that has gone has been counted as such, and each outcome is counted once (contract 4.9).
    const counted = exchange.ended || exchange.halfClosed;
    if (!counted && error instanceof PaymentError && error.code === POOL_EXHAUSTED) {
      this.#lane.onRejected?.('pool_exhausted');
    }
    // A lane may know better, and tries again or looks up what became of it. Where it does not, the same request under
    // its key does: that is an answer that asks for it, and no fault of this process.
    return isConnectionLoss(error) ? unavailable(error) : error;
  }

  #refusal(reason: RefusalReason, exchange: Exchange): PaymentError | null {
    switch (reason) {
      case 'full':
        exchange.onShed = this.#lane.onShed ?? null;
        return new PaymentError(this.#lane.full, 'The lane is full: nothing of this request was done.');
      case 'queue_timeout':
        return new PaymentError(this.#lane.full, 'No permit came free in time: nothing of this request was done.');
      case 'draining':
        return new PaymentError(edgeProblems.draining, 'This process takes no new work; send the request again.');
      case 'client_abort':
        return null;
      default: {
        const never: never = reason;
        throw new Error(`Unknown refusal ${String(never)}`);
      }
    }
  }
}

/** Why a stand-in is asked; null where the failure is the answer, or nobody waits for one. */
function reasonOf(error: unknown, failure: unknown, exchange: Exchange): Failed['reason'] | null {
  if (exchange.ended || !(failure instanceof PaymentError)) return null;
  if (error instanceof BulkheadRefusedError) {
    return error.reason === 'full' || error.reason === 'queue_timeout' ? error.reason : null;
  }
  if (error instanceof ExecutionTimeoutError) return 'execution_timeout';
  return failure.kind.status === 503 || failure.kind.status === 504 ? 'failed' : null;
}
