import { PaymentError } from '../shared/problem';
import type { Check } from './pipeline';
import { edgeProblems } from './problems';

/**
 * What a lane asks before a body of one of its `gated` routes is read, so that it can refuse it unread or let it wait:
 * as long as nobody reads, the sender's writes come to a stop by themselves (contract 11). The lane's module enters it.
 */
export class BodyGates {
  readonly #byLane = new Map<string, Check>();

  open(lane: string, gate: Check): void {
    if (this.#byLane.has(lane)) throw new Error(`The lane ${lane} has a gate already`);
    this.#byLane.set(lane, gate);
  }

  /** The place in the edge's order of refusals. */
  readonly check: Check = (visit) => {
    const { policy, awaitedBody } = visit.exchange;
    if (policy === null || !policy.gated || awaitedBody === null) return null;
    const gate = this.#byLane.get(policy.lane);
    // Fails closed: a route that asks for room must not be served without any bound.
    if (gate === undefined)
      return new PaymentError(edgeProblems.internal, 'This route has no bounds and is not served.');
    return gate(visit);
  };
}
