import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failed, StandIn } from '../../../ingress/admission.interceptor';
import { mayActFor } from '../../../ingress/caller';
import { callerOf } from '../../../ingress/exchange';
import { markReplayed } from '../../../ingress/keyed-request';
import type { RejectionReason } from '../../../platform/lane-metrics';
import type { EvaluationTasks } from '../evaluation-task';
import type { Evaluation } from '../fraud';
import { fraudProblems } from '../fraud.problems';
import { PaymentError } from '../../../shared/problem';
import type { FraudOverflow } from './fraud-overflow';

export interface OverflowStandInOptions {
  readonly overflow: Pick<FraudOverflow, 'accept' | 'find' | 'mayKnow'>;
  readonly tasks: Pick<EvaluationTasks, 'of'>;
  readonly present: (evaluation: Evaluation) => unknown;
  readonly locationOf: (id: string) => string;
  /** Counts how the execution ended; the bulkhead leaves it to this (contract 4.9). */
  readonly onRejected: (reason: Extract<RejectionReason, 'full' | 'queue_timeout' | 'overflow_failed'>) => void;
}

/** How a full fraud lane answers (contract 3, 10): "later", by way of the overflow; 503 only where that fails too. */
export class OverflowStandIn implements StandIn {
  readonly #options: OverflowStandInOptions;

  constructor(options: OverflowStandInOptions) {
    this.#options = options;
  }

  async answer({ failure, reason, request, reply }: Failed): Promise<unknown> {
    // What was admitted is not done a second time by the overflow; its key tells what became of it.
    if (reason !== 'full' && reason !== 'queue_timeout') throw failure;
    const { onRejected } = this.#options;
    try {
      const answer =
        request.method === 'POST' ? await this.#accept(request, reply) : await this.#read(request, failure);
      onRejected(reason);
      return answer;
    } catch (error) {
      const failed = error instanceof PaymentError && error !== failure && error.code === fraudProblems.full.code;
      onRejected(failed ? 'overflow_failed' : reason);
      throw error;
    }
  }

  async #accept(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { overflow, tasks, present, locationOf } = this.#options;
    const evaluation = await overflow.accept(tasks.of(request));
    reply.header('Location', locationOf(evaluation.id));
    markReplayed(reply, evaluation.status === 'COMPLETED');
    reply.code(evaluation.status === 'COMPLETED' ? 200 : 202);
    return present(evaluation);
  }

  /** Whoever was told "later" may ask while the lane is still full; the queue is asked only for what it may know. */
  async #read(request: FastifyRequest, failure: PaymentError): Promise<unknown> {
    const { overflow, present } = this.#options;
    const { id } = request.params as { id?: string };
    if (id === undefined || !overflow.mayKnow(id)) throw failure;
    const evaluation = await overflow.find(id).catch(() => null);
    const caller = callerOf(request);
    if (evaluation?.caller !== caller.subject || !mayActFor(caller, evaluation.merchantId)) throw failure;
    return present(evaluation);
  }
}
