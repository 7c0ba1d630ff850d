import type { CertificateStatement } from '../../src/lanes/tax/compensation/certificate';
import { CERTIFICATE_DAYS_MAX, sha256Of } from '../../src/lanes/tax/compensation/certificate';
import { CompensationTable, compensationTableSchema } from '../../src/lanes/tax/compensation/compensation-table';
import type { CompensationTableFile } from '../../src/lanes/tax/compensation/compensation-table';
import { REJECTED } from '../../src/lanes/tax/compensation/verify-compensation';
import { Authority, authoritySchema, type JurisdictionsFile, jurisdictionsSchema } from './authority';
import { checkCoverage } from './checks/coverage';
import { checkDeviation } from './checks/deviation';
import { checkGoldenBaskets } from './checks/golden-baskets';
import { checkRounding } from './checks/rounding';
import type { Pace } from './checks/pace';
import type { Provider } from './provider';
import { buildTable } from './table-builder';

/** What certification looks at, as bytes, since the certificate speaks of bytes. */
export interface CertificationInput {
  readonly table: Uint8Array;
  readonly authority: Uint8Array;
  readonly jurisdictions: Uint8Array;
  /** The rates that the provider of this certification answers with. */
  readonly simulator: Uint8Array;
  readonly provider: Provider;
  /** The day of the certification, as a date in UTC. */
  readonly today: string;
  /** The run at 1,800 estimates a second; given, so that a test need not depend on the speed of its machine. */
  readonly run: (file: CompensationTableFile, table: CompensationTable) => Promise<Pace>;
}

/** The table is not what it says: every fault that was found, and what to do. */
export class CertificationRefused extends Error {
  override readonly name = 'CertificationRefused';

  constructor(readonly faults: readonly string[]) {
    const shown = faults.slice(0, FAULTS_SHOWN_MAX);
    const more = faults.length > shown.length ? [`… and ${faults.length - shown.length} more`] : [];
    super(
      [`${REJECTED}: the table was not certified`, ...[...shown, ...more].map((fault) => `  ${fault}`), REMEDY].join(
        '\n',
      ),
    );
  }
}

const FAULTS_SHOWN_MAX = 20;
const REMEDY =
  '  Look up which of the three is wrong (table, provider, authority), mend that one from a source, then ' +
  '`npm run compensation:build` and `npm run compensation:certify` again';

/**
 * Proves the table against its authority and its provider (ADV-UC-01): deviation, coverage, the provider's own answers,
 * rounding, and a run at the pace of a drill.
 *
 * @throws CertificationRefused with every fault.
 */
export async function certify(input: CertificationInput): Promise<CertificateStatement> {
  const { file, table, authority, jurisdictions } = readInput(input);
  const { provider, today } = input;
  const deviation = checkDeviation(file, authority.ratesOn(today));
  const faults = [
    ...authority.faults(),
    ...deviation.faults,
    ...checkCoverage(file, jurisdictions, authority),
    ...(await differencesFromProvider(file, { provider, jurisdictions, authority, today })),
  ];
  const rounding = checkRounding(file);
  const golden = await checkGoldenBaskets(file, table, provider);
  faults.push(...rounding.faults, ...golden.faults);
  if (faults.length > 0) throw new CertificationRefused(faults);

  const pace = await input.run(file, table);
  if (pace.faults.length > 0) throw new CertificationRefused(pace.faults);
  return {
    version: 1,
    table_sha256: sha256Of(input.table),
    simulator_sha256: sha256Of(input.simulator),
    authority_sha256: sha256Of(input.authority),
    authority_version: authority.version,
    certified_on: today,
    ...expiryOf(authority, today),
    rows: file.rows.length,
    jurisdictions: new Set(file.rows.map((row) => row.jurisdiction)).size,
    excluded: authority.excludedPlaces().size,
    deviation_max: deviation.max,
    golden_baskets: golden.baskets,
    rounding_cases: rounding.cases,
    estimates_per_second: pace.perSecond,
  };
}

interface Read {
  readonly file: CompensationTableFile;
  readonly table: CompensationTable;
  readonly authority: Authority;
  readonly jurisdictions: JurisdictionsFile;
}

function readInput(input: CertificationInput): Read {
  const faults: string[] = [];
  const read = <T>(name: string, make: () => T): T | null => {
    try {
      return make();
    } catch (error) {
      faults.push(`${name} is unusable: ${(error as Error).message}`);
      return null;
    }
  };
  const file = read('the table', () => compensationTableSchema.parse(jsonOf(input.table)));
  const table = file && read('the table', () => new CompensationTable(file));
  const authority = read('the authority', () => new Authority(authoritySchema.parse(jsonOf(input.authority))));
  const jurisdictions = read('the list of jurisdictions', () => jurisdictionsSchema.parse(jsonOf(input.jurisdictions)));
  if (file === null || table === null || authority === null || jurisdictions === null) {
    throw new CertificationRefused(faults);
  }
  return { file, table, authority, jurisdictions };
}

function jsonOf(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

/** Row by row what the provider says today: a table of an earlier provider, or an edited one, is not its table. */
async function differencesFromProvider(
  file: CompensationTableFile,
  wanted: Parameters<typeof buildTable>[0],
): Promise<string[]> {
  const built = await buildTable(wanted);
  const key = ({ jurisdiction, postal_code: code }: CompensationTableFile['rows'][number]): string =>
    code === null ? jurisdiction : `${jurisdiction} ${code}`;
  const ours = new Map(file.rows.map((row) => [key(row), row.rate]));
  const theirs = new Map(built.file.rows.map((row) => [key(row), row.rate]));
  const places = [...new Set([...ours.keys(), ...theirs.keys()])];
  return [
    ...built.missing.map((place) => `${place}: the provider has no rate; exclude the place or ask another provider`),
    ...places
      .filter((place) => ours.get(place) !== theirs.get(place))
      .map(
        (place) =>
          `${place}: the table has ${ours.get(place) ?? 'no row'}, the provider ${theirs.get(place) ?? 'none'}`,
      ),
    ...(JSON.stringify(file.places_without_estimate) === JSON.stringify(built.file.places_without_estimate)
      ? []
      : ['the places without estimate are not the authority’s']),
  ];
}

function expiryOf(authority: Authority, today: string): Pick<CertificateStatement, 'expires_at' | 'expires_because'> {
  const longest = new Date(`${today}T00:00:00Z`);
  longest.setUTCDate(longest.getUTCDate() + CERTIFICATE_DAYS_MAX);
  const longestAt = longest.toISOString();
  const change = authority.nextChangeAfter(today);
  const changeAt = change && new Date(`${change.effective}T00:00:00Z`).toISOString();
  if (change === null || changeAt === null || changeAt > longestAt) {
    return { expires_at: longestAt, expires_because: `${CERTIFICATE_DAYS_MAX} days after it was made` };
  }
  return { expires_at: changeAt, expires_because: `the rate of ${change.place} changes on ${change.effective}` };
}
