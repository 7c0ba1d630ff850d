import type { KeyedOutcome } from '../../ingress/idempotency';
import type { IdempotencyCoordinator, KeyedAnswer } from '../../ingress/idempotency.coordinator';
import { PaymentError } from '../../shared/problem';
import type { CardTurns } from './card-turns';
import type { CompletedEvaluation, EvaluationTask, Evaluator, Verdict } from './fraud';
import { fraudProblems } from './fraud.problems';
import type { EvaluationStore, FraudRepository, StoredEvaluation } from './fraud.repository';
import type { Facts } from './rules/facts';
import type { Judge } from './rules/judge';

/**
 * The first try takes no lock: within a process a card's evaluations wait for each other, so it fails only where another
 * process used the card meanwhile. The second one holds the card and succeeds, unless there was no card to hold yet and
 * two processes are about to add it; the third one finds it.
 */
const TRIES_MAX = 4;

type Outcome = KeyedOutcome<CompletedEvaluation>;
type VerdictOn = (facts: Facts) => Promise<Verdict>;

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

  #once(task: EvaluationTask, verdictOn: VerdictOn): Promise<KeyedAnswer<CompletedEvaluation>> {
    const keyed = { scopeHash: Buffer.from(task.id, 'latin1'), payloadHash: task.payloadHash };
    return this.coordinator.run(keyed, () =>
      this.turns.take(task.request.cardFingerprint, () => this.#judgeAndStore(task, verdictOn)),
    );
  }

  async #judgeAndStore(task: EvaluationTask, verdictOn: VerdictOn): Promise<Outcome> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const outcome =
        tries === 0
          ? await this.#try(this.repository, task, verdictOn)
          : await this.repository.holdingCard(task.request.cardFingerprint, (store) =>
              this.#try(store, task, verdictOn),
            );
      if (outcome !== null) return outcome;
    }
    throw new PaymentError(fraudProblems.cardBusy, 'Other payments with this card came first; nothing was stored.');
  }

  /** Null where the next read will show what this one could not see: the key's result, or the card's newer history. */
  async #try(store: EvaluationStore, task: EvaluationTask, verdictOn: VerdictOn): Promise<Outcome | null> {
    const { stored, card, facts } = await store.read(task);
    if (stored !== null) return outcomeOf(stored, task);
    const verdict = await verdictOn(facts);
    if ((await store.write(task, card, verdict)) !== 'stored') return null;
    return { kind: 'answered', answer: completed(task, verdict), replayed: false };
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
