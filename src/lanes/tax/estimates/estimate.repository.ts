import type { LaneStore } from '../../../platform/database/statement';
import { amountMinorFromText } from '../../../shared/money';
import type { Estimate, Quote, QuoteRequest } from '../tax';
import {
  failEstimate,
  findEstimate,
  insertEstimates,
  postponeEstimate,
  purgeEstimates,
  settleEstimate,
  takeDueEstimate,
} from './estimate.statements';
import type { ReconciledEstimate, Reconciliation, ServedEstimate } from './served-estimate';

/** An estimate whose turn it is to be compared with the provider's answer. */
export interface DueEstimate {
  readonly id: string;
  readonly request: QuoteRequest;
  readonly taxMinor: number;
  readonly jurisdiction: string;
  /** This one included. */
  readonly attempts: number;
}

interface EstimateRow {
  readonly id: string;
  readonly estimate: Estimate;
  readonly status: Reconciliation['status'];
  readonly provider_figures: Quote | null;
  readonly difference_minor: string | null;
  readonly settled_at: Date | null;
}

interface DueRow {
  readonly id: string;
  readonly request: QuoteRequest;
  readonly tax_minor: string;
  readonly jurisdiction: string;
  readonly attempts: number;
}

/** What became of estimates that were to be written. */
export interface InsertedEstimates {
  /** New rows. */
  readonly written: number;
  /** Written before. */
  readonly known: number;
  /** Their caller's key has the row of another order: one row for a key (contract 10). */
  readonly lost: number;
}

/** Estimates in `tax_ds`. */
export class EstimateRepository {
  constructor(private readonly store: LaneStore) {}

  async insert(served: readonly ServedEstimate[]): Promise<InsertedEstimates> {
    const sorted = [...served].sort((a, b) => a.scopeHash.compare(b.scopeHash));
    // unnest pads arrays of unequal length with NULL in silence; these are of one length by construction.
    const [counts] = await this.store.query<{ written: number; lost: number }>(insertEstimates, [
      sorted.map(({ id }) => id),
      sorted.map(({ scopeHash }) => scopeHash),
      sorted.map(({ caller }) => caller),
      sorted.map(({ request }) => request.currency),
      sorted.map(({ estimate }) => estimate.jurisdiction),
      sorted.map(({ request }) => JSON.stringify(request)),
      sorted.map(({ estimate }) => JSON.stringify(estimate)),
      sorted.map(({ estimate }) => estimate.taxMinor),
      sorted.map(({ servedAt }) => servedAt.toISOString()),
    ]);
    if (counts === undefined) throw new Error('The database did not say what became of estimates');
    const { written, lost } = counts;
    return { written, known: served.length - written - lost, lost };
  }

  async find(id: string, caller: string): Promise<ReconciledEstimate | null> {
    const [row] = await this.store.query<EstimateRow>(findEstimate, [id, caller]);
    if (row === undefined) return null;
    return {
      id: row.id,
      estimate: row.estimate,
      reconciliation: {
        status: row.status,
        provider: row.provider_figures,
        differenceMinor: row.difference_minor === null ? null : amountMinorFromText(row.difference_minor),
        settledAt: row.settled_at,
      },
    };
  }

  async takeDue(leaseMs: number): Promise<DueEstimate | null> {
    const [row] = await this.store.query<DueRow>(takeDueEstimate, [leaseMs]);
    if (row === undefined) return null;
    const { id, request, tax_minor, jurisdiction, attempts } = row;
    return { id, request, taxMinor: amountMinorFromText(tax_minor), jurisdiction, attempts };
  }

  /** @returns whether it was open until now. */
  async settle(id: string, provider: Quote): Promise<boolean> {
    const rows = await this.store.query(settleEstimate, [id, JSON.stringify(provider), provider.taxMinor]);
    return rows.length > 0;
  }

  /** @param counts whether the try was one that the order itself has failed. */
  async postpone(id: string, failure: string, delayMs: number, counts: boolean): Promise<void> {
    await this.store.query(postponeEstimate, [id, failure, delayMs, counts]);
  }

  async fail(id: string, failure: string): Promise<void> {
    await this.store.query(failEstimate, [id, failure]);
  }

  /** @returns how many were removed. */
  async purge(keepDays: number, batchMax: number): Promise<number> {
    return (await this.store.query(purgeEstimates, [keepDays, batchMax])).length;
  }
}
