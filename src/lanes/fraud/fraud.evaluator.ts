import type { KeyedOutcome } from '../../ingress/idempotency';
import type { IdempotencyCoordinator, KeyedAnswer } from '../../ingress/idempotency.coordinator';
import { PaymentError } from '../../shared/problem';
import type { CardTurns } from './card-turns';
import type { CompletedEvaluation, EvaluationTask, Evaluator, Verdict } from './fraud';
import { fraudProblems } from './fraud.problems';
import type { FraudRepository, StoredEvaluation } from './fraud.repository';
import type { Facts } from './rules/facts';
import type { Judge } from './rules/judge';

/**
 * Tries at a card that other processes use at the same time. One of those that meet succeeds each time, so this many
 * processes can meet before one gives up.
 */
const STORE_TRIES_MAX = 10;

type Outcome = KeyedOutcome<CompletedEvaluation>;

/** Reads facts, judges, stores: once per key, and one card's evaluations one after another (contract 8 and 10). */
export class FraudEvaluator implements Evaluator {
  constructor(
    private readonly repository: FraudRepository,
    private readonly judge: Judge,
    private readonly coordinator: IdempotencyCoordinator,
    private readonly turns: CardTurns,
  ) {}

  evaluate(task: EvaluationTask): Promise<KeyedAnswer<CompletedEvaluation>> {
    return this.#once(task, (facts) => this.judge.judge(facts));
  }

  close(task: EvaluationTask, verdict: Verdict): Promise<KeyedAnswer<CompletedEvaluation>> {
    return this.#once(task, () => Promise.resolve(verdict));
  }

  #once(
    task: EvaluationTask,
    verdictOn: (facts: Facts) => Promise<Verdict>,
  ): Promise<KeyedAnswer<CompletedEvaluation>> {
    const keyed = { scopeHash: Buffer.from(task.id, 'latin1'), payloadHash: task.payloadHash };
    return this.coordinator.run(keyed, () =>
      this.turns.take(task.request.cardFingerprint, () => this.#judgeAndStore(task, verdictOn)),
    );
  }

  async #judgeAndStore(task: EvaluationTask, verdictOn: (facts: Facts) => Promise<Verdict>): Promise<Outcome> {
    for (let tries = 0; tries < STORE_TRIES_MAX; tries += 1) {
      const { stored, card, facts } = await this.repository.read(task);
      if (stored !== null) return outcomeOf(stored, task);
      const verdict = await verdictOn(facts);
      const outcome = await this.repository.write(task, card, verdict);
      if (outcome === 'stored') return { kind: 'answered', answer: completed(task, verdict), replayed: false };
      // Either way the next read shows what this one could not see: the key's result, or the card's newer history.
    }
    throw new PaymentError(fraudProblems.cardBusy, 'Other payments with this card came first; nothing was stored.');
  }
}

function completed({ id, caller, request }: EvaluationTask, verdict: Verdict): CompletedEvaluation {
  const { score, decision, reasons } = verdict;
  return { id, status: 'COMPLETED', caller, merchantId: request.merchantId, score, decision, reasons };
}

function outcomeOf({ evaluation, payloadHash }: StoredEvaluation, task: EvaluationTask): Outcome {
  if (!payloadHash.equals(task.payloadHash)) return { kind: 'key_reused' };
  return { kind: 'answered', answer: evaluation, replayed: true };
}
