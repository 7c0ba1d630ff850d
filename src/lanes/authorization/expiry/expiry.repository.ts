import { sqlStateOf } from '../../../platform/database/driver-errors';
import type { LaneStore } from '../../../platform/database/statement';
import { expireDueSkippingLocks, expireDueWaiting } from './expiry.statements';

export interface ExpiryBatch {
  /** Authorizations that were due. */
  readonly found: number;
  /** Those of them that expired; the others were locked, or somebody was faster. */
  readonly expired: number;
}

/** Expiry in `card_auth_ds`. */
export class ExpiryRepository {
  constructor(private readonly store: LaneStore) {}

  async expire(batchMax: number): Promise<ExpiryBatch> {
    const [batch] = await this.store.query<ExpiryBatch>(expireDueSkippingLocks, [batchMax]);
    return batch ?? { found: 0, expired: 0 };
  }

  /** The oldest one, waiting for its locks; nothing where they were not to be had in time. */
  async expireOldest(): Promise<ExpiryBatch> {
    try {
      const [batch] = await this.store.query<ExpiryBatch>(expireDueWaiting, [1]);
      return batch ?? { found: 0, expired: 0 };
    } catch (error) {
      if (sqlStateOf(error) === '55P03') return { found: 1, expired: 0 };
      throw error;
    }
  }
}
