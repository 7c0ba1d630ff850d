import { LRUCache } from 'lru-cache';
import { edgeProblems } from '../../../ingress/problems';
import type { LaneQueue } from '../../../platform/queue/lane-queue';
import { queueProblems } from '../../../platform/queue/queue.problems';
import { PaymentError } from '../../../shared/problem';
import type { Evaluation, EvaluationTask, OverflowLookup, QueuedEvaluation } from '../fraud';
import { fraudProblems } from '../fraud.problems';
import { evaluationTaskOf, OVERFLOW_JOB, type OverflowJob, overflowJobOf, overflowJobOptions } from './overflow-job';
import { isKeyReused, type OverflowResult, verdictOf } from './overflow-job';
import type { OverflowObserver } from './overflow.metrics';

/** Keys remembered as possibly waiting: twice what may wait, at about a hundred bytes each. */
const REMEMBERED_MAX = 20_000;
/** What may be asked for: the queue's own keys (`meta`, `events`) lie beside its jobs in Redis. */
const EVALUATION_ID = /^evl_\w{1,64}$/;

/** The part of a job that is looked at here. */
interface StoredJob {
  readonly id?: string | undefined;
  readonly data: unknown;
  readonly returnvalue: unknown;
  readonly finishedOn?: number | undefined;
}

/** The part of the queue that is used here; every call ends within 50 ms. */
export type OverflowQueue = Pick<LaneQueue<OverflowJob, OverflowResult>, 'enqueueOnce' | 'find'>;

export interface FraudOverflowOptions {
  readonly queue: OverflowQueue;
  readonly observer: Pick<OverflowObserver, 'onAccepted'>;
  readonly now: () => number;
}

/**
 * The evaluations that wait because the lane was full (contract 10). The evaluation's id is the job's: a retry finds
 * the job of the first try, also where that one was answered 503 because Redis did not say in time whether it had it.
 * Such a job is evaluated like any other; its key then has a result, which is there when the caller asks again.
 */
export class FraudOverflow implements OverflowLookup {
  readonly #options: FraudOverflowOptions;
  /**
   * Ids that are, or may be, on the overflow: those that this process put there, and those that it has seen there. Without
   * it every request would have to ask Redis.
   */
  readonly #remembered = new LRUCache<string, true>({ max: REMEMBERED_MAX });

  constructor(options: FraudOverflowOptions) {
    this.#options = options;
  }

  /**
   * Puts an evaluation on the overflow, or finds it there.
   *
   * @returns it as the queue has it: waiting, or finished already.
   * @throws PaymentError 503 `ERR_FRAUD_OVERFLOW_UNAVAILABLE`, 422 `ERR_IDEMPOTENCY_KEY_REUSED`.
   */
  async accept(task: EvaluationTask): Promise<Evaluation> {
    const { queue, observer, now } = this.#options;
    const startedMs = now();
    // Before the attempt: one of unknown outcome may have left a job.
    this.#remembered.set(task.id, true);
    try {
      const options = { ...overflowJobOptions, jobId: task.id };
      const { job, added } = await queue.enqueueOnce(OVERFLOW_JOB, overflowJobOf(task), options);
      observer.onAccepted(added ? 'added' : 'repeated', now() - startedMs);
      requireSamePayload(job, task);
      return evaluationOf(job, task) ?? refuseEnded(job);
    } catch (error) {
      if (!(error instanceof PaymentError) || !isOfQueue(error)) throw error;
      const full = error.code === queueProblems.full.code;
      // It is certain that there is no job; what is refused in thousands must not push out what waits.
      if (full) this.#remembered.delete(task.id);
      observer.onAccepted(full ? 'full' : 'unavailable', now() - startedMs);
      throw unavailable(
        full
          ? 'The lane is full, and so is its overflow: nothing of this request was done.'
          : 'The lane is full, and whether its overflow has the request is not known: the same request again finds out.',
        error,
      );
    }
  }

  /** Told of ids that were seen in the queue, whoever put them there. */
  remember(ids: Iterable<string>): void {
    for (const id of ids) this.#remembered.set(id, true);
  }

  /** Whether the queue is worth asking for an id. */
  mayKnow(id: string): boolean {
    return this.#remembered.has(id);
  }

  async waiting(task: EvaluationTask, declaredRetry: boolean): Promise<QueuedEvaluation | null> {
    if (!declaredRetry && !this.#remembered.has(task.id)) return null;
    const job = await this.#options.queue.find(task.id).catch(() => undefined);
    // Nobody can tell: the request evaluates, and the worker will find its result under the unique key.
    if (job === undefined) return null;
    if (job === null || job.finishedOn !== undefined) {
      this.#remembered.delete(task.id);
      return null;
    }
    requireSamePayload(job, task);
    return queued(task);
  }

  async find(id: string): Promise<Evaluation | null> {
    if (!EVALUATION_ID.test(id)) return null;
    try {
      const job = await this.#options.queue.find(id);
      const task = job && evaluationTaskOf(id, job.data);
      return job && task && evaluationOf(job, task);
    } catch (error) {
      throw unavailable('The database does not know this evaluation, and the overflow cannot be asked.', error);
    }
  }
}

/** Null for a job that has ended without a verdict. */
function evaluationOf(job: StoredJob, task: EvaluationTask): Evaluation | null {
  if (job.finishedOn === undefined) return queued(task);
  const verdict = verdictOf(job.returnvalue);
  return verdict && { ...queued(task), status: 'COMPLETED', ...verdict };
}

function queued({ id, caller, request }: EvaluationTask): QueuedEvaluation {
  return { id, caller, merchantId: request.merchantId, status: 'QUEUED' };
}

function requireSamePayload(job: StoredJob, task: EvaluationTask): void {
  if (evaluationTaskOf(task.id, job.data)?.payloadHash.equals(task.payloadHash) !== true) throw keyReused();
}

/** "Later" would be a promise that nobody keeps. */
function refuseEnded({ id, returnvalue }: StoredJob): never {
  if (isKeyReused(returnvalue)) throw keyReused();
  // None of our jobs is ever given up: somebody has put this one there, or ended it.
  throw unavailable('The lane is full, and the job under this key has ended without a result.', { job_id: id });
}

function keyReused(): PaymentError {
  return new PaymentError(
    edgeProblems.idempotencyKeyReused,
    'This idempotency key was used for a request with another payload; a new request needs a new key.',
  );
}

function isOfQueue({ code }: PaymentError): boolean {
  return Object.values(queueProblems).some((kind) => kind.code === code);
}

function unavailable(detail: string, cause: unknown): PaymentError {
  return new PaymentError(fraudProblems.full, detail, { cause });
}
