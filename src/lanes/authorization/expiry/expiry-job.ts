export const EXPIRY_QUEUE = 'authorization-expiry';
export const EXPIRY_JOB = 'authorizations-due';

/** Says that authorizations are due; which ones, the database knows. No card data and no ids. */
export interface ExpiryJob {
  readonly due_at: string;
}
