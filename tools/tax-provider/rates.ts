import { readFileSync } from 'node:fs';
import { type Decimal, decimalOf } from './decimal';

export interface RegionRate {
  readonly country: string;
  readonly countryName: string;
  /** Null where a country has one rate. */
  readonly region: string | null;
  readonly regionName: string | null;
  readonly label: string;
  readonly rate: Decimal;
}

export interface PostalRate {
  readonly country: string;
  readonly region: string;
  readonly city: string;
  /** State and local together. */
  readonly rate: Decimal;
}

/** What is due at a place, and on what it was found. */
export interface PlaceRate {
  readonly base: RegionRate;
  readonly postal: PostalRate | null;
  readonly combined: Decimal;
}

interface RatesFile {
  readonly rates: readonly Readonly<Record<string, string | null>>[];
  readonly postal_rates: readonly Readonly<Record<string, string>>[];
}

/** The simulator's own rates: no file of the product is read here, so that a fault in one is not a fault in both. */
export class Rates {
  readonly regions: readonly RegionRate[];
  readonly #byRegion = new Map<string, RegionRate>();
  readonly #byPostalCode = new Map<string, PostalRate>();

  private constructor(file: RatesFile) {
    this.regions = file.rates.map((row) => ({
      country: row['country'] ?? '',
      countryName: row['country_name'] ?? '',
      region: row['region'] ?? null,
      regionName: row['region_name'] ?? null,
      label: row['label'] ?? '',
      rate: rateOf(row['rate']),
    }));
    for (const row of this.regions) this.#byRegion.set(keyOf(row.country, row.region), row);
    for (const row of file.postal_rates) {
      const { country = '', region = '', postal_code = '', city = '' } = row;
      const rate = rateOf(row['rate']);
      this.#byPostalCode.set(keyOf(country, postalKey(country, postal_code)), { country, region, city, rate });
    }
  }

  static fromFile(path: string): Rates {
    return new Rates(JSON.parse(readFileSync(path, 'utf8')) as RatesFile);
  }

  /** Null for a place that the provider does not know: no country of the file, or no region where the rate needs one. */
  at(country: string, region: string | null, postalCode: string | null): PlaceRate | null {
    const postal =
      postalCode === null ? undefined : this.#byPostalCode.get(keyOf(country, postalKey(country, postalCode)));
    const base = this.#byRegion.get(keyOf(country, null)) ?? this.#byRegion.get(keyOf(country, region ?? ''));
    if (base === undefined) return null;
    const inRegion = postal !== undefined && postal.region === base.region ? postal : null;
    return { base, postal: inRegion, combined: inRegion?.rate ?? base.rate };
  }

  atPostalCode(country: string, postalCode: string): PostalRate | null {
    return this.#byPostalCode.get(keyOf(country, postalKey(country, postalCode))) ?? null;
  }
}

function rateOf(text: string | null | undefined): Decimal {
  const rate = decimalOf(text ?? '');
  if (rate === null) throw new Error(`${text} is no rate`);
  return rate;
}

function keyOf(country: string, place: string | null): string {
  return `${country}/${place ?? ''}`;
}

/** ZIP+4 is looked up by its ZIP; elsewhere spaces do not count. */
function postalKey(country: string, postalCode: string): string {
  const plain = postalCode.toUpperCase().replace(/\s/g, '');
  return country === 'US' ? plain.slice(0, 5) : plain;
}
