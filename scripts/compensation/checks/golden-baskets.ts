import { CertifiedEstimator } from '../../../src/lanes/tax/compensation/certified-estimator';
import type { CompensationTable, CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import type { QuoteRequest } from '../../../src/lanes/tax/tax';
import { placeName } from '../authority';
import { majorText, roundHalfUp } from '../exact-decimal';
import type { Provider } from '../provider';
import { BASKET_CURRENCIES, basketFor } from './baskets';
import { trialOf } from './trial';

/** Calls under way at once: the provider is asked some hundreds of times. */
const CALLS_AT_ONCE = 8;

export interface GoldenBaskets {
  readonly faults: readonly string[];
  readonly baskets: number;
}

/** For every row and currency the estimate is, part by part, what the provider itself would charge, rounded half up. */
export async function checkGoldenBaskets(
  file: CompensationTableFile,
  table: CompensationTable,
  provider: Provider,
): Promise<GoldenBaskets> {
  const estimator = new CertifiedEstimator(trialOf(table), () => 0);
  const baskets = file.rows.flatMap((row) =>
    BASKET_CURRENCIES.map(({ currency, exponent }) => ({
      place: placeName(row.jurisdiction, row.postal_code),
      exponent,
      request: basketFor(row, currency),
    })),
  );
  const faults: string[] = [];
  const waiting = baskets.values();
  const worker = async (): Promise<void> => {
    for (const { place, exponent, request } of waiting) {
      const fault = await compare(estimator, provider, request, exponent);
      if (fault !== null) faults.push(`${place}, ${request.currency}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
  return { faults, baskets: baskets.length };
}

async function compare(
  estimator: CertifiedEstimator,
  provider: Provider,
  request: QuoteRequest,
  exponent: number,
): Promise<string | null> {
  const estimate = estimator.estimate(request);
  if (estimate === null) return 'no estimate';
  const charged = await provider
    .taxes({
      country: request.shipTo.country,
      region: request.shipTo.region,
      postalCode: request.shipTo.postalCode,
      lines: request.lines.map(({ id, amountMinor }) => ({ id, amount: majorText(amountMinor, exponent) })),
      shipping: majorText(request.shippingMinor, exponent),
    })
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  if (typeof charged === 'string') return charged;
  let sum = roundHalfUp(charged.shipping, exponent);
  if (sum !== BigInt(estimate.shippingTaxMinor)) return `shipping is ${sum}, the estimate ${estimate.shippingTaxMinor}`;
  for (const { id, taxMinor } of estimate.lines) {
    const theirs = charged.lines.get(id);
    if (theirs === undefined) return `the provider left out line ${id}`;
    const rounded = roundHalfUp(theirs, exponent);
    if (rounded !== BigInt(taxMinor)) return `line ${id} is ${rounded}, the estimate ${taxMinor}`;
    sum += rounded;
  }
  return sum === BigInt(estimate.taxMinor) ? null : `the total is ${sum}, the estimate ${estimate.taxMinor}`;
}
