import type { CompensationTableFile } from '../../src/lanes/tax/compensation/compensation-table';
import { placeName, type Authority, type JurisdictionsFile } from './authority';
import { type ExactDecimal, isEqualDecimal } from './exact-decimal';
import type { Provider, SummaryRate } from './provider';

type Row = CompensationTableFile['rows'][number];

export interface BuiltTable {
  readonly file: CompensationTableFile;
  /** Places that were wanted and that the provider has no rate for. */
  readonly missing: readonly string[];
}

interface Wanted {
  readonly provider: Provider;
  readonly jurisdictions: JurisdictionsFile;
  readonly authority: Authority;
  readonly today: string;
}

/**
 * The table as the provider's summary and postal rates have it today (contract 10). The rates are the provider's alone;
 * of the authority it takes only which places have no estimate.
 */
export async function buildTable({ provider, jurisdictions, authority, today }: Wanted): Promise<BuiltTable> {
  const excluded = authority.excludedPlaces();
  const byJurisdiction = new Map((await provider.summaryRates()).map((row) => [codeOf(row), row]));
  const rows: Row[] = [];
  const missing: string[] = [];
  for (const code of jurisdictions.jurisdictions) {
    if (excluded.has(code)) continue;
    const known = byJurisdiction.get(code);
    if (known === undefined) missing.push(code);
    else rows.push({ jurisdiction: code, postal_code: null, rate: textOf(generalRate(known)) });
  }
  for (const { jurisdiction, postal_code: postalCode } of jurisdictions.postal_codes) {
    const place = placeName(jurisdiction, postalCode);
    if (excluded.has(place)) continue;
    const rate = await provider.combinedRate(jurisdiction.slice(0, 2), jurisdiction.slice(3), postalCode);
    if (rate === null) missing.push(place);
    else rows.push({ jurisdiction, postal_code: postalCode, rate: textOf(rate) });
  }
  const places = authority.placesWithoutEstimate.map(({ country, regions, postal_prefixes }) => ({
    country,
    regions,
    postal_prefixes,
  }));
  return {
    file: { version: 1, built_on: today, provider: 'TaxJar API v2', rows, places_without_estimate: places },
    missing,
  };
}

function codeOf({ country, region }: SummaryRate): string {
  return region === null ? country : `${country}-${region}`;
}

/**
 * In the US the least that is due anywhere in the state; in Canada, where the provider's minimum is the federal tax alone,
 * both taxes together. Elsewhere there is one rate, and a provider that says two is not understood.
 */
function generalRate(row: SummaryRate): ExactDecimal {
  if (row.country === 'US') return row.minimum;
  if (row.country === 'CA') return row.average;
  if (!isEqualDecimal(row.minimum, row.average)) {
    throw new Error(`${codeOf(row)}: the provider gives two rates for a country that has one`);
  }
  return row.minimum;
}

/** The shortest decimal text: a table that is built twice from the same rates is the same to the byte. */
function textOf({ units, scale }: ExactDecimal): string {
  const digits = units.toString().padStart(scale + 1, '0');
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - scale);
  return scale === 0 || fraction === '' ? whole : `${whole}.${fraction}`;
}
