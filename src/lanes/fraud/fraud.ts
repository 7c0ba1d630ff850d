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
  /** SHA-256 of method, path and canonical body (contract 8), 32 bytes. */
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
}

export interface CompletedEvaluation extends Verdict {
  readonly id: string;
  readonly status: 'COMPLETED';
  readonly caller: string;
}

/**
 * An evaluation as it is known. `COMPLETED` is a row of `evaluations`, which never changes. `QUEUED` is a row of
 * `queued_evaluations`, which the statement that stores the result removes; where both are there, the result counts.
 */
export type Evaluation = QueuedEvaluation | CompletedEvaluation;
