import type { LaneStore } from '../../../platform/database/statement';
import { amountMinorFromText } from '../../../shared/money';
import { publicId } from '../../../shared/public-id';
import { CAPTURE_PREFIX, REFUND_PREFIX } from '../authorization-id';
import { leaseOutbox, markPublished, oldestUnpublished, purgePublished, releaseOutbox } from './outbox.statements';
import type { SettlementEvent, SettlementType } from './settlement-event';

interface OutboxRow {
  readonly event_id: string;
  readonly type: SettlementType;
  readonly merchant_id: string;
  readonly account_id: string;
  readonly amount_minor: string;
  readonly currency: string;
  readonly occurred_at: Date;
}

/** A row that this relay has for a while. */
export interface LeasedEvent {
  readonly rowId: string;
  readonly event: SettlementEvent;
}

/** The outbox in `card_auth_ds`, as its relay needs it. Its rows are written by the moves themselves. */
export interface OutboxStore {
  lease(batchMax: number, leaseMs: number): Promise<LeasedEvent[]>;
  markPublished(rowIds: readonly string[]): Promise<void>;
  release(rowIds: readonly string[]): Promise<void>;
  /** Milliseconds; null where nothing waits. */
  oldestUnpublishedMs(): Promise<number | null>;
  purge(olderThanHours: number, batchMax: number): Promise<number>;
}

const PREFIXES = { SALE: CAPTURE_PREFIX, REFUND: REFUND_PREFIX } as const satisfies Record<SettlementType, string>;

export class OutboxRepository implements OutboxStore {
  constructor(private readonly store: LaneStore) {}

  async lease(batchMax: number, leaseMs: number): Promise<LeasedEvent[]> {
    const rows = await this.store.query<OutboxRow>(leaseOutbox, [batchMax, leaseMs]);
    return rows.map((row) => ({ rowId: row.event_id, event: eventOf(row) }));
  }

  async markPublished(rowIds: readonly string[]): Promise<void> {
    await this.store.query(markPublished, [rowIds]);
  }

  async release(rowIds: readonly string[]): Promise<void> {
    await this.store.query(releaseOutbox, [rowIds]);
  }

  async oldestUnpublishedMs(): Promise<number | null> {
    const [row] = await this.store.query<{ age_ms: number }>(oldestUnpublished, []);
    return row?.age_ms ?? null;
  }

  async purge(olderThanHours: number, batchMax: number): Promise<number> {
    const [row] = await this.store.query<{ purged: number }>(purgePublished, [olderThanHours, batchMax]);
    return row?.purged ?? 0;
  }
}

function eventOf(row: OutboxRow): SettlementEvent {
  return {
    event_id: publicId(PREFIXES[row.type], row.event_id),
    type: row.type,
    merchant_id: row.merchant_id,
    account_id: row.account_id,
    amount_minor: amountMinorFromText(row.amount_minor),
    currency: row.currency,
    occurred_at: row.occurred_at.toISOString(),
  };
}
