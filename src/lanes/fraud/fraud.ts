import type { KeyedAnswer } from '../../ingress/idempotency.coordinator';

/** What the lane advises, gravest last. */
export const DECISIONS = ['APPROVE', 'REVIEW', 'DECLINE'] as const;
export type Decision = (typeof DECISIONS)[number];

/** A payment to be judged. The card's token ends where the request enters the lane: from there on it is a fingerprint. */
export interface FraudRequest {
  readonly merchantId: string;
  /** HMAC-SHA-256 of the card token under the lane's key, 64 lower-case hexadecimal digits. */
  readonly cardFingerprint: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** When the payment was made: the end of every velocity window. The time of receipt where the caller said nothing. */
  readonly occurredAt: Date;
}

/** One evaluation to be made, at once or by a worker: it holds all that is needed, and no card data. */
export interface EvaluationTask {
  /** `evl_…`, a function of caller and idempotency key: job id and unique key too, so that there is one result. */
  readonly id: string;
  /** The subject of the caller, who alone may read the result. */
  readonly caller: string;
  /**
   * HMAC-SHA-256, under the key of the fingerprints, of the SHA-256 of method, path and canonical body (contract 8), 32
   * bytes. Without the key, whoever reads a job or a row could try card tokens against the plain hash.
   */
  readonly payloadHash: Buffer;
  readonly request: FraudRequest;
}

/** Why points were given. `facts` are those that the rule looked at, with amounts masked. */
export interface Reason {
  readonly rule: string;
  readonly points: number;
  readonly text: string;
  readonly facts: Readonly<Record<string, number | string | boolean>>;
}

export interface Verdict {
  /** 0–100. */
  readonly score: number;
  readonly decision: Decision;
  readonly reasons: readonly Reason[];
}

export interface QueuedEvaluation {
  readonly id: string;
  readonly status: 'QUEUED';
  readonly caller: string;
  /** Whose payment it is: a caller's token may have lost the merchant since (contract 8). */
  readonly merchantId: string;
}

export interface CompletedEvaluation extends Verdict {
  readonly id: string;
  readonly status: 'COMPLETED';
  readonly caller: string;
  readonly merchantId: string;
}

/**
 * An evaluation as it is known. `COMPLETED` is a row of `evaluations`, which never changes. `QUEUED` is a job of
 * `fraud-overflow` and nothing else: a request that found the lane full has touched no database (contract 4.2), so the
 * queue is asked for what the database does not know. Where both are there, the row counts.
 */
export type Evaluation = QueuedEvaluation | CompletedEvaluation;

/** Who evaluates: requests at once, and the overflow's worker later. The unique key in the database is the authority. */
export interface Evaluator {
  /**
   * Evaluates once, however often and by whomever it is asked; a key that has a result gets that result.
   *
   * @throws PaymentError 422 `ERR_IDEMPOTENCY_KEY_REUSED`, 409 `ERR_IDEMPOTENCY_IN_FLIGHT`, and the database's errors.
   */
  evaluate(task: EvaluationTask): Promise<KeyedAnswer<CompletedEvaluation>>;
  /** Stores a verdict that no rule has made, under the same unique key and with the same errors. */
  close(task: EvaluationTask, verdict: Verdict): Promise<KeyedAnswer<CompletedEvaluation>>;
}

/** What the lane's requests ask of the overflow when they have a permit. */
export interface OverflowLookup {
  /**
   * The evaluation under the task's key where it waits on the overflow: a key that was answered 202 is answered 202
   * again until there is a result. Null, and the request evaluates, where it does not wait, or nobody can tell.
   * Asks Redis only for what may be there: keys that this process put on the overflow or has seen there, and declared
   * retries.
   *
   * @throws PaymentError 422 `ERR_IDEMPOTENCY_KEY_REUSED` where another payload waits under the key.
   */
  waiting(task: EvaluationTask, declaredRetry: boolean): Promise<QueuedEvaluation | null>;
  /**
   * What the queue knows of an id that the database does not know; null for nothing.
   *
   * @throws PaymentError 503 `ERR_FRAUD_OVERFLOW_UNAVAILABLE` where the queue cannot be asked.
   */
  find(id: string): Promise<Evaluation | null>;
}

/** Injection tokens of the two: the service provides the first, the overflow the second. */
export const EVALUATOR = Symbol('EVALUATOR');
export const OVERFLOW_LOOKUP = Symbol('OVERFLOW_LOOKUP');
