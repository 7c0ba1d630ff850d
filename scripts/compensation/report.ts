import { verifyCompensation } from '../../src/lanes/tax/compensation/verify-compensation';
import { readCompensationFiles } from '../../src/lanes/tax/compensation/compensation-files';
import { SetupError } from '../setup/setup-error';
import { Authority, type AuthorityFile, authoritySchema, placeName } from './authority';
import { runCommand } from './command';
import { differencesFromPackage } from './cross-check';
import { compensationPaths, readNeeded, taxFolder, todayUtc } from './places';

/**
 * `npm run compensation:report`: what the estimates rest on, for whoever answers for them. It fails where the cross-check
 * differs and nobody has found out why.
 */
async function report(): Promise<void> {
  const remedy = 'it is part of the repository, restore it';
  const bytes = Buffer.from(readNeeded(compensationPaths.authority, remedy));
  const file = authoritySchema.parse(JSON.parse(bytes.toString('utf8')));
  const authority = new Authority(file);
  const today = todayUtc();
  const differences = differencesFromPackage(authority.ratesOn(today));
  print([
    ...certificateLines(),
    '',
    ...sourceLines(file),
    '',
    'Changes that are known:',
    ...changeLines(file, today),
    '',
    `Without an estimate, though somebody might ask (${file.exclusions.length}):`,
    ...file.exclusions.map(
      (entry) => `  ${placeName(entry.jurisdiction, entry.postal_code)} (${entry.dated}): ${entry.reason}`,
    ),
    ...file.places_without_estimate.map((place) => `  parts of ${place.country} (${place.dated}): ${place.reason}`),
    '',
    `Differences from the sales-tax package, a cross-check and no authority (${differences.length}):`,
    ...differences.map(
      ({ place, authority: ours, packaged, explanation }) =>
        `  ${place}: ${ours}, the package ${packaged ?? 'nothing'}. ${explanation ?? 'NOT EXPLAINED'}`,
    ),
  ]);
  const open = differences.filter(({ explanation }) => explanation === null).map(({ place }) => place);
  if (open.length > 0) throw new SetupError(`Nobody has explained why the package differs for ${open.join(', ')}`);
}

function certificateLines(): string[] {
  const verification = verifyCompensation(readCompensationFiles(taxFolder));
  if (!verification.accepted) return [verification.rejection];
  const { certificate } = verification;
  return [
    `Certificate ${certificate.id}, until ${certificate.expires_at} (${certificate.expires_because})`,
    `  ${certificate.rows} rows of ${certificate.jurisdictions} jurisdictions, deviation at most ${certificate.deviation_max}`,
    `  ${certificate.golden_baskets} baskets as the provider has them, ${certificate.rounding_cases} roundings, ` +
      `${certificate.estimates_per_second} estimates a second`,
  ];
}

const KINDS = {
  original: 'read in the authority’s own words',
  transcription: 'read in somebody’s transcription of its words',
  report: 'read in somebody’s report',
} as const;

function sourceLines({ version, sources, rates, postal_rates: postalRates }: AuthorityFile): string[] {
  const all = [
    ...rates.map((entry) => ({ place: entry.jurisdiction, source: entry.source })),
    ...postalRates.map((entry) => ({ place: placeName(entry.jurisdiction, entry.postal_code), source: entry.source })),
  ];
  const lines = Object.entries(KINDS).map(([kind, words]) => {
    const places = all.filter(({ source }) => sources[source]?.kind === kind).map(({ place }) => place);
    return `  ${places.length} ${words}: ${places.join(', ')}`;
  });
  return [
    `Authority ${version}: ${rates.length} jurisdictions, ${postalRates.length} postal codes, ${Object.keys(sources).length} sources; rates`,
    ...lines,
  ];
}

function changeLines({ rates, postal_rates: postalRates }: AuthorityFile, today: string): string[] {
  const places = [
    ...rates.map((entry) => ({ place: entry.jurisdiction, changes: entry.changes })),
    ...postalRates.map((entry) => ({
      place: placeName(entry.jurisdiction, entry.postal_code),
      changes: entry.changes,
    })),
  ];
  return places.flatMap(({ place, changes = [] }) =>
    changes.map(
      ({ effective, rate }) => `  ${place}: ${rate} from ${effective}${effective <= today ? ', in force' : ''}`,
    ),
  );
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

runCommand(report);
