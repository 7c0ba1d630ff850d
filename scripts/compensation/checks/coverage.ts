import type { CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { type Authority, type JurisdictionsFile, placeName } from '../authority';

/** The list of places, less the authority's exclusions, is exactly what the table covers (contract 10). */
export function checkCoverage(
  file: CompensationTableFile,
  { jurisdictions, postal_codes: postalCodes }: JurisdictionsFile,
  authority: Authority,
): string[] {
  const listed = [
    ...jurisdictions,
    ...postalCodes.map(({ jurisdiction, postal_code: postalCode }) => placeName(jurisdiction, postalCode)),
  ];
  const excluded = authority.excludedPlaces();
  const covered = new Set(file.rows.map((row) => placeName(row.jurisdiction, row.postal_code)));
  return [
    ...listed.filter((place) => !excluded.has(place) && !covered.has(place)).map((place) => `${place}: no row`),
    ...[...covered].filter((place) => !listed.includes(place)).map((place) => `${place}: not on the list of places`),
    ...[...excluded].filter((place) => covered.has(place)).map((place) => `${place}: is excluded and has a row`),
    ...[...excluded]
      .filter((place) => !listed.includes(place))
      .map((place) => `${place}: excluded, but never asked for`),
  ];
}
