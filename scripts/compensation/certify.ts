import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { sealCertificate } from '../../src/lanes/tax/compensation/certificate';
import { say } from '../setup/report';
import { certify } from './certification';
import { runAtPace } from './checks/pace';
import { runCommand } from './command';
import { compensationPaths, readNeeded, todayUtc } from './places';
import { withProvider } from './with-provider';

const PACE_MS = 3_000;

/**
 * `npm run compensation:certify`: proves the table and writes its certificate. With `-- --check` everything is proven and
 * nothing is written: what continuous integration runs, so that no one of the three files changes alone.
 */
async function run(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
  const statement = await withProvider((provider) =>
    certify({
      table: readNeeded(compensationPaths.table, 'build it with `npm run compensation:build`'),
      authority: readNeeded(compensationPaths.authority, 'it is part of the repository, restore it'),
      jurisdictions: readNeeded(compensationPaths.jurisdictions, 'it is part of the repository, restore it'),
      simulator: readNeeded(compensationPaths.simulator, 'it is part of the repository, restore it'),
      provider,
      today: todayUtc(),
      run: (file, table) => runAtPace(file, table, PACE_MS),
    }),
  );
  const {
    rows,
    jurisdictions,
    deviation_max: deviation,
    golden_baskets: baskets,
    estimates_per_second: pace,
  } = statement;
  say(
    `${rows} rows of ${jurisdictions} jurisdictions proven: deviation at most ${deviation}, ${baskets} baskets as the ` +
      `provider has them, ${statement.rounding_cases} roundings, ${pace} estimates a second`,
  );
  if (values.check) return;
  const certificate = sealCertificate(statement);
  writeFileSync(compensationPaths.certificate, `${JSON.stringify(certificate, null, 2)}\n`);
  say(`${certificate.id}, until ${certificate.expires_at}: ${certificate.expires_because}`);
}

runCommand(run);
