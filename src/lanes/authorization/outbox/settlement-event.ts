export const SETTLEMENT_QUEUE = 'authorization-settlement';
export const SETTLEMENT_JOB = 'settle';

export type SettlementType = 'SALE' | 'REFUND';

/**
 * What the ledger is told of a capture or a refund: the data of a job of `authorization-settlement`, whose id is
 * `event_id`. Delivered at least once; the ledger makes it once by `external_transaction_id` = `event_id` (contract 11).
 */
export interface SettlementEvent {
  /** The capture's or the refund's own id: `cap_…` or `ref_…`. */
  readonly event_id: string;
  readonly type: SettlementType;
  readonly merchant_id: string;
  /** The merchant's settlement account for the currency when the move was made. */
  readonly account_id: string;
  /** Minor units; a safe integer. */
  readonly amount_minor: number;
  readonly currency: string;
  /** RFC 3339, UTC: when the capture or refund was committed. */
  readonly occurred_at: string;
}
