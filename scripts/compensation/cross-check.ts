import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { textOfRate } from '../../src/lanes/tax/compensation/rate';

/** What the `sales-tax` package says, which checks the authority and is none (contract 10). */
interface PackageCountry {
  readonly rate: number;
  readonly states?: Readonly<Record<string, { readonly rate: number }>>;
}

export interface Difference {
  readonly place: string;
  readonly authority: string;
  /** Null where the package has no rate of its own for the place. */
  readonly packaged: string | null;
  /** Null where nobody has found out why. */
  readonly explanation: string | null;
}

const NO_STATE_TAX = 'The package has no row for the state, and answers zero for the US without one: zero by chance';

/** Why the package differs, from what was read of each rate; the dates are of the authority's sources. */
const EXPLANATIONS: Readonly<Record<string, string>> = {
  'US-AK': NO_STATE_TAX,
  'US-DE': NO_STATE_TAX,
  'US-MT': NO_STATE_TAX,
  'US-NH': NO_STATE_TAX,
  'US-OR': NO_STATE_TAX,
  'US-AR': 'The package has the rate of before: 6 % in the Federation’s list of 2010, 6.5 % in that of 2014',
  'US-AZ': 'The package has the rate of before: 5.6 % since 2013-06-01',
  'US-CA': 'The package has the rate of before: 7.25 % since 2017-01-01',
  'US-CT': 'The package has the rate of before: 6.35 % since 2011-07-01',
  'US-DC': 'The package has the rate of before: 7 % since 2026-10-01',
  'US-LA': 'The package has the rate of before: 5 % since 2025-01-01',
  'US-ME': 'The package has the rate of before: 5.5 % since 2013-10-01',
  'US-NC': 'The package has the rate of before: 5.75 % in the Federation’s list of 2010, 4.75 % in that of 2014',
  'US-NJ': 'The package has the rate of before: 6.625 % since 2018',
  'US-NM': 'The package has the rate of before: 4.875 % since 2023-07-01',
  'US-OH': 'The package has the rate of before: 5.5 % in the Federation’s list of 2010, 5.75 % in that of 2014',
  'US-SD': 'The package has the rate of before 2016-06-01 (4 %); 4.2 % since 2023-07-01',
  'US-UT':
    'The package adds the local tax of 1.25 % to a former state rate; a row of the table is the state’s own rate',
  'US-VA': 'The package has the rate of before: 5 % in the Federation’s list of 2010, 5.3 % since 2013-07-01',
  LI: 'The package has the rate of before: 8.1 % since 2024-01-01',
};

/** Places where the authority and the package do not say the same, with the reason where it is known. */
export function differencesFromPackage(authority: ReadonlyMap<string, number>): Difference[] {
  const countries = packagedRates();
  return [...authority]
    .filter(([place]) => !place.includes(' '))
    .map(([place, rate]) => ({ place, authority: textOfRate(rate), packaged: packagedRate(countries, place) }))
    .filter((row) => row.packaged !== row.authority)
    .map((row) => ({ ...row, explanation: EXPLANATIONS[row.place] ?? null }));
}

function packagedRate(countries: Readonly<Record<string, PackageCountry>>, place: string): string | null {
  const [code = '', region] = place.split('-');
  const country = countries[code];
  if (country === undefined) return null;
  if (region === undefined) return text(country.rate);
  const state = country.states?.[region];
  // Canada's federal tax stands at the country, and a province without a tax of its own has no row.
  if (code === 'CA') return text(country.rate + (state?.rate ?? 0));
  return state === undefined ? null : text(state.rate);
}

/** The package's rates are floats: 0.05 + 0.09975 is a little more than 0.14975. */
function text(rate: number): string {
  return textOfRate(Math.round(rate * 1_000_000));
}

function packagedRates(): Readonly<Record<string, PackageCountry>> {
  const file = createRequire(__filename).resolve('sales-tax/res/sales_tax_rates.json');
  return JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, PackageCountry>>;
}
