export const RECONCILIATION_QUEUE = 'tax-reconciliation';
export const RECONCILIATION_JOB = 'estimates-due';

/** Says that estimates wait for the provider's answer; which ones, the database knows. */
export interface ReconciliationJob {
  readonly written: number;
}
