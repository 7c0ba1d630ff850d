import { z } from 'zod';
import type { RateScope, ShipTo } from '../tax';
import { type RateMillionths, rateFromText } from './rate';

const jurisdiction = z.string().regex(/^[A-Z]{2}(-[A-Z0-9]{1,3})?$/);
const rate = z.string().refine((text) => {
  try {
    rateFromText(text);
    return true;
  } catch {
    return false;
  }
}, 'a fraction from 0 to 1 of at most six decimals, such as 0.0825');

/** The most rows that a table may have: it is held in memory, and a longer one is a mistake of its builder. */
const ROWS_MAX = 50_000;

/** `config/tax/compensation-table.json`, as `npm run compensation:build` writes it. */
export const compensationTableSchema = z.strictObject({
  version: z.literal(1),
  built_on: z.iso.date(),
  provider: z.string().min(1),
  /** `US-CA`, `CA-ON`, `DE`; with a postal code the row holds there only, and goes before the jurisdiction's own. */
  rows: z
    .array(z.strictObject({ jurisdiction, postal_code: z.string().min(1).max(10).nullable(), rate }))
    .min(1)
    .max(ROWS_MAX),
  /** Parts of a country in which its row does not hold. */
  places_without_estimate: z.array(
    z.strictObject({
      country: z.string().length(2),
      regions: z.array(z.string()),
      postal_prefixes: z.array(z.string()),
    }),
  ),
});

export type CompensationTableFile = z.infer<typeof compensationTableSchema>;
export type PlaceWithoutEstimate = CompensationTableFile['places_without_estimate'][number];

/** A certified rate and how specific it is. */
export interface CompensationRow {
  readonly jurisdiction: string;
  readonly scope: RateScope;
  readonly rate: RateMillionths;
}

/** Countries whose rate depends on the region: without one, or with one that has no row, there is no rate. */
const COUNTRIES_OF_REGIONS: ReadonlySet<string> = new Set(['US', 'CA']);

/** The table in memory: the most specific row wins, and no row is no rate. */
export class CompensationTable {
  readonly #byJurisdiction = new Map<string, CompensationRow>();
  readonly #byPostalCode = new Map<string, CompensationRow>();
  readonly #withoutEstimate = new Map<string, PlaceWithoutEstimate>();

  /** @throws RangeError for two rows of one place: which of them would hold? */
  constructor(file: CompensationTableFile) {
    for (const row of file.rows) {
      const { jurisdiction: code, postal_code: postalCode } = row;
      const country = code.slice(0, 2);
      const ofRegion = code.length > 2;
      if (postalCode === null && ofRegion !== COUNTRIES_OF_REGIONS.has(country)) {
        throw new RangeError(`${code}: the rates of ${country} ${ofRegion ? 'are not' : 'are'} by region`);
      }
      const scope: RateScope = postalCode !== null ? 'postal_code' : ofRegion ? 'region' : 'country';
      const rows = postalCode === null ? this.#byJurisdiction : this.#byPostalCode;
      const key = postalCode === null ? code : postalKey(country, postalCode);
      if (rows.has(key)) throw new RangeError(`Two rows for ${code} ${postalCode ?? ''}`.trimEnd());
      rows.set(key, { jurisdiction: code, scope, rate: rateFromText(row.rate) });
    }
    for (const place of file.places_without_estimate) {
      if (this.#withoutEstimate.has(place.country)) throw new RangeError(`Two lists of parts of ${place.country}`);
      this.#withoutEstimate.set(place.country, place);
    }
  }

  get size(): number {
    return this.#byJurisdiction.size + this.#byPostalCode.size;
  }

  /** Null where no row covers the place, or where what was said of it contradicts itself. */
  find({ country, region, postalCode }: ShipTo): CompensationRow | null {
    const postal = postalCode === null ? undefined : this.#byPostalCode.get(postalKey(country, postalCode));
    if (COUNTRIES_OF_REGIONS.has(country)) {
      const ofRegion = region === null ? undefined : this.#byJurisdiction.get(`${country}-${region}`);
      if (ofRegion === undefined || postal === undefined) return ofRegion ?? null;
      // A postal code of another region: one of the two is wrong, and nobody can tell which.
      return postal.jurisdiction === ofRegion.jurisdiction ? postal : null;
    }
    if (this.#isWithoutEstimate(country, region, postalCode)) return null;
    return postal ?? this.#byJurisdiction.get(country) ?? null;
  }

  #isWithoutEstimate(country: string, region: string | null, postalCode: string | null): boolean {
    const place = this.#withoutEstimate.get(country);
    if (place === undefined) return false;
    if (region !== null && place.regions.includes(region)) return true;
    if (postalCode === null) return false;
    const code = plain(postalCode);
    // `D-27498` and `FI-22100` are written as well: the country's letters before its digits.
    const spellings = [code, code.replace(/^[A-Z]+/, '')];
    return place.postal_prefixes.some((prefix) => spellings.some((spelling) => spelling.startsWith(prefix)));
  }
}

/** ZIP+4 is looked up by its ZIP; elsewhere spaces, hyphens and case do not tell places apart. */
function postalKey(country: string, postalCode: string): string {
  const text = plain(postalCode);
  return `${country} ${country === 'US' ? text.slice(0, 5) : text}`;
}

function plain(postalCode: string): string {
  return postalCode.toUpperCase().replace(/[\s-]/g, '');
}
