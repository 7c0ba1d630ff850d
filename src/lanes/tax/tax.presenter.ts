import type { ReconciledEstimate } from './estimates/served-estimate';
import type { Estimate, StoredQuote, TaxFigures } from './tax';
import type { EstimateAnswer, QuoteAnswer, ReconciledEstimateAnswer } from './tax.schemas';

type FiguresAnswer = Omit<QuoteAnswer, 'id' | 'source'>;

function presentFigures({ taxMinor, rate, shippingTaxMinor, lines, jurisdiction }: TaxFigures): FiguresAnswer {
  return {
    tax_minor: taxMinor,
    rate,
    shipping_tax_minor: shippingTaxMinor,
    lines: lines.map((line) => ({ id: line.id, tax_minor: line.taxMinor, rate: line.rate })),
    jurisdiction,
  };
}

/** A quote of the provider as callers see it, its members in contract 10's order. */
export function presentQuote({ id, quote }: StoredQuote): QuoteAnswer {
  return { id, source: 'PROVIDER', ...presentFigures(quote) };
}

/** What stands in for it. */
export function presentEstimate(id: string, estimate: Estimate): EstimateAnswer {
  return {
    id,
    source: 'CACHED_COMPENSATION',
    ...presentFigures(estimate),
    rate_scope: estimate.rateScope,
    certificate_id: estimate.certificateId,
    tax_code_ignored: estimate.taxCodeIgnored,
  };
}

/** An estimate with what the provider said later. */
export function presentReconciled({ id, estimate, reconciliation }: ReconciledEstimate): ReconciledEstimateAnswer {
  const { status, provider, differenceMinor, settledAt } = reconciliation;
  return {
    ...presentEstimate(id, estimate),
    reconciliation: {
      status,
      provider: provider === null ? null : presentFigures(provider),
      difference_minor: differenceMinor,
      settled_at: settledAt?.toISOString() ?? null,
    },
  };
}
