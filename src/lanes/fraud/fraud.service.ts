import { type Caller, mayActFor } from '../../ingress/caller';
import { PaymentError } from '../../shared/problem';
import type { Evaluation, EvaluationTask, Evaluator, OverflowLookup } from './fraud';
import { fraudProblems } from './fraud.problems';
import type { FraudRepository } from './fraud.repository';

export interface Evaluated {
  readonly evaluation: Evaluation;
  /** An earlier request under the key was given this result. */
  readonly replayed: boolean;
}

/** What callers of the lane can do; knows no HTTP. */
export class FraudService {
  constructor(
    private readonly evaluator: Evaluator,
    private readonly repository: FraudRepository,
    private readonly overflow: OverflowLookup,
  ) {}

  /**
   * Judges a payment, or gives again what its key stands for: a result, or a place on the overflow (contract 10).
   *
   * @param declaredRetry the caller says that it has sent this before.
   */
  async evaluate(task: EvaluationTask, declaredRetry: boolean): Promise<Evaluated> {
    const waiting = await this.overflow.waiting(task, declaredRetry);
    if (waiting !== null) return { evaluation: waiting, replayed: false };
    const { answer, replayed } = await this.evaluator.evaluate(task);
    return { evaluation: answer, replayed };
  }

  /** @throws PaymentError 404 for an id that is none, or another caller's. */
  async read(caller: Caller, id: string): Promise<Evaluation> {
    const evaluation = (await this.repository.find(id)) ?? (await this.overflow.find(id));
    if (evaluation?.caller === caller.subject && mayActFor(caller, evaluation.merchantId)) return evaluation;
    throw new PaymentError(fraudProblems.notFound, 'There is no such evaluation.');
  }
}
