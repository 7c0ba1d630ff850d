import type { FastifyRequest } from 'fastify';
import type { Failed, StandIn } from '../../ingress/admission.interceptor';
import { callerOf, exchangeOf } from '../../ingress/exchange';
import { keyedRequestOf } from '../../ingress/keyed-request';
import { PaymentError } from '../../shared/problem';
import type { EstimateRing } from './estimates/estimate-ring';
import { prefersLenient } from './prefer';
import type { Estimator } from './tax';
import { estimateIdOf } from './tax-id';
import { presentEstimate } from './tax.presenter';
import { type EstimateAnswer, type QuoteRequestBody, quoteRequestOf } from './tax.schemas';

export interface TaxStandInOptions {
  readonly estimator: Estimator;
  readonly ring: Pick<EstimateRing, 'note'>;
  readonly now: () => Date;
  readonly onServed: () => void;
}

/**
 * What a checkout gets where there is no tax from the provider: a certified estimate with the refusal, so that it can be
 * completed (contract 10, ADV-UC-01). It is made within the few milliseconds that a full lane has: a table in memory,
 * integers, and a note for reconciliation; no database and no Redis.
 */
export class TaxStandIn implements StandIn {
  readonly #options: TaxStandInOptions;

  constructor(options: TaxStandInOptions) {
    this.#options = options;
  }

  answer({ failure, request, reply }: Failed): EstimateAnswer {
    // Only orders demand a key: reading a quote has nothing that could be estimated.
    const compensation = exchangeOf(request).idempotencyKey === null ? null : this.#estimate(request);
    if (compensation === null) throw failure;
    if (prefersLenient(request.headers['prefer'])) {
      reply.status(200).header('Preference-Applied', 'handling=lenient');
      return compensation;
    }
    const { extras } = failure;
    throw new PaymentError(failure.kind, failure.message, {
      ...extras,
      members: { ...extras.members, compensation },
    });
  }

  #estimate(request: FastifyRequest): EstimateAnswer | null {
    const { estimator, ring, now, onServed } = this.#options;
    const quoteRequest = quoteRequestOf(request.body as QuoteRequestBody);
    const estimate = estimator.estimate(quoteRequest);
    if (estimate === null) return null;
    const keyed = keyedRequestOf(request);
    const id = estimateIdOf(keyed);
    ring.note({
      id,
      scopeHash: keyed.scopeHash,
      caller: callerOf(request).subject,
      request: quoteRequest,
      estimate,
      servedAt: now(),
    });
    onServed();
    return presentEstimate(id, estimate);
  }
}
