import type { KeyedRequest } from '../../ingress/idempotency';
import type { LaneStore } from '../../platform/database/statement';
import type { Quote, StoredQuote } from './tax';
import {
  findQuote,
  findQuoteByKey,
  openQuote,
  purgeClaims,
  releaseClaim,
  rollQuoteGeneration,
  storeQuote,
} from './tax.statements';

/** The answer that stands under a key, and for which payload. */
export interface UnderKey {
  readonly payloadHash: Buffer;
  readonly stored: StoredQuote;
}

/** What a look at a key found. */
export type Opened =
  | ({ readonly kind: 'stored' } & UnderKey)
  /** Nobody else works on the key until it is stored, released, or the lease has run out. */
  | { readonly kind: 'claimed' }
  /** Another process works on it; null where it has just ended. */
  | { readonly kind: 'held'; readonly payloadHash: Buffer | null };

export interface QuoteToStore {
  readonly keyed: KeyedRequest;
  readonly owner: string;
  readonly id: string;
  readonly caller: string;
  readonly currency: string;
  readonly quote: Quote;
}

interface StoredRow {
  readonly id: string;
  readonly payload_hash: Buffer;
  readonly figures: Quote;
}

type OpenedRow =
  | (StoredRow & { readonly outcome: 'stored' })
  | { readonly outcome: 'claimed' }
  | { readonly outcome: 'held'; readonly payload_hash: Buffer | null };

/** Quotes in `tax_ds`. Each call holds a connection for one statement, so none is held while the provider is asked. */
export class TaxRepository {
  constructor(private readonly store: LaneStore) {}

  async open({ scopeHash, payloadHash }: KeyedRequest, owner: string, leaseMs: number): Promise<Opened> {
    const [row] = await this.store.query<OpenedRow>(openQuote, [scopeHash, payloadHash, owner, leaseMs]);
    switch (row?.outcome) {
      case 'stored':
        return { kind: 'stored', ...underKeyOf(row) };
      case 'claimed':
        return { kind: 'claimed' };
      case 'held':
        return { kind: 'held', payloadHash: row.payload_hash };
      case undefined:
        throw new Error('The database did not say what stands under the key');
      default:
        throw new Error(`Unknown outcome ${JSON.stringify(row satisfies never)}`);
    }
  }

  /** @returns null where it was stored; otherwise what stands under its key already. */
  async keep({ keyed, owner, id, caller, currency, quote }: QuoteToStore): Promise<UnderKey | null> {
    const values = [keyed.scopeHash, keyed.payloadHash, id, caller, currency, JSON.stringify(quote), owner];
    const rows = await this.store.query(storeQuote, values);
    if (rows.length > 0) return null;
    const [stored] = await this.store.query<StoredRow>(findQuoteByKey, [keyed.scopeHash]);
    if (stored === undefined) throw new Error('A quote that was in the way of another is gone');
    return underKeyOf(stored);
  }

  async release(scopeHash: Buffer, owner: string): Promise<void> {
    await this.store.query(releaseClaim, [scopeHash, owner]);
  }

  async find(id: string, caller: string): Promise<StoredQuote | null> {
    const [row] = await this.store.query<StoredRow>(findQuote, [id, caller]);
    return row === undefined ? null : { id: row.id, quote: row.figures };
  }

  /** Removes what processes that were killed have left. */
  async purgeClaims(): Promise<void> {
    await this.store.query(purgeClaims, []);
  }

  /** @returns the new generation's number; null where the current one is younger than `ageMinHours`. */
  async rollGeneration(ageMinHours: number): Promise<number | null> {
    const [row] = await this.store.query<{ generation: number | null }>(rollQuoteGeneration, [`${ageMinHours} hours`]);
    return row?.generation ?? null;
  }
}

function underKeyOf({ id, payload_hash, figures }: StoredRow): UnderKey {
  return { payloadHash: payload_hash, stored: { id, quote: figures } };
}
