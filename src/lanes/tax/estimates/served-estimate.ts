import type { Estimate, Quote, QuoteRequest } from '../tax';

/** An estimate that a caller was given, and for which order. */
export interface ServedEstimate {
  readonly id: string;
  /** Of caller and key: there is one row for it. */
  readonly scopeHash: Buffer;
  readonly caller: string;
  readonly request: QuoteRequest;
  readonly estimate: Estimate;
  readonly servedAt: Date;
}

export interface Reconciliation {
  /** `FAILED`: the provider will not answer this order. */
  readonly status: 'PENDING' | 'RECONCILED' | 'FAILED';
  readonly provider: Quote | null;
  /** The provider's tax less the estimate. */
  readonly differenceMinor: number | null;
  readonly settledAt: Date | null;
}

export interface ReconciledEstimate {
  readonly id: string;
  readonly estimate: Estimate;
  readonly reconciliation: Reconciliation;
}

export const PENDING: Reconciliation = { status: 'PENDING', provider: null, differenceMinor: null, settledAt: null };
