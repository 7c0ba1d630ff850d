import { BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import { PaymentError } from '../../../shared/problem';
import { edgeProblems } from '../../../ingress/problems';
import type { EvaluationTask, Evaluator, Verdict } from '../fraud';
import type { BackgroundPermits } from './background-permits';
import type { ExpiryAlarm } from './expiry-alarm';
import type { FailureBackOff } from './failure-back-off';
import type { OverflowResult } from './overflow-job';

/** What a job is closed with that nobody came to in time (contract 10): a person decides, as its caller was told. */
export const EXPIRED: Verdict = {
  score: 0,
  decision: 'REVIEW',
  reasons: [
    {
      rule: 'overflow_expired',
      points: 0,
      text: 'Waited too long to be evaluated; no rule has looked at it',
      facts: {},
    },
  ],
};

export interface OverflowRunnerOptions {
  readonly permits: BackgroundPermits;
  readonly evaluator: Evaluator;
  readonly alarm: ExpiryAlarm;
  readonly backOff: FailureBackOff;
  /** A job older than this is closed and not evaluated. */
  readonly ageMsMax: number;
  /** The clock that job's times are read from. */
  readonly wallNow: () => number;
  readonly onFinished: (outcome: OverflowResult['outcome'], ageMs: number) => void;
}

/**
 * What is done for one job of the overflow: one permit, one result. Delivered at least once, and harmless as often as
 * it likes: the unique key of the evaluation decides, so a second run finds the result of the first.
 */
export class OverflowRunner {
  readonly #options: OverflowRunnerOptions;

  constructor(options: OverflowRunnerOptions) {
    this.#options = options;
  }

  /**
   * @param queuedAtMs by the wall clock of the process that took the request.
   * @throws BulkheadRefusedError while draining, 409 while the same key is evaluated elsewhere, the database's errors:
   *   the job is tried again.
   */
  async run(task: EvaluationTask, queuedAtMs: number, signal?: AbortSignal): Promise<OverflowResult> {
    const { permits, alarm, backOff, ageMsMax, wallNow, onFinished } = this.#options;
    const ageMs = (): number => Math.max(0, wallNow() - queuedAtMs);
    const warnOfAge = (): void => {
      if (ageMs() > ageMsMax) alarm.tooOld(ageMs());
    };
    const result = await permits
      .run(() => this.#settle(task, ageMs()), { signal, onRefused: warnOfAge })
      .catch((error: unknown) => this.#failed(error, signal));
    backOff.succeeded();
    if (result.outcome === 'expired') alarm.tooOld(ageMs());
    if (result.outcome === 'evaluated') alarm.inTime();
    onFinished(result.outcome, ageMs());
    return result;
  }

  async #failed(error: unknown, signal: AbortSignal | undefined): Promise<never> {
    if (!(error instanceof BulkheadRefusedError)) await this.#options.backOff.failed(signal);
    throw error;
  }

  async #settle(task: EvaluationTask, ageMs: number): Promise<OverflowResult> {
    const { evaluator, ageMsMax } = this.#options;
    const tooOld = ageMs > ageMsMax;
    try {
      const { answer, replayed } = await (tooOld ? evaluator.close(task, EXPIRED) : evaluator.evaluate(task));
      const { score, decision, reasons } = answer;
      return { outcome: replayed ? 'found' : tooOld ? 'expired' : 'evaluated', score, decision, reasons };
    } catch (error) {
      // The caller used the key for another payload while the queue could not be asked, and that one has the result.
      if (error instanceof PaymentError && error.code === edgeProblems.idempotencyKeyReused.code) {
        return { outcome: 'key_reused' };
      }
      throw error;
    }
  }
}
