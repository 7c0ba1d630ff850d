import { laneTable } from '../config/lanes';
import { reportReconciliation } from '../src/lanes/tax/estimates/estimate.statements';
import { formatMinor } from '../src/shared/money';
import { embeddedAdminUrl } from './setup/embedded-admin-url';
import { withClient } from './setup/postgres-client';
import { say } from './setup/report';
import { readScriptEnvironment } from './setup/script-environment';
import { describeFault, SetupError } from './setup/setup-error';

interface ReportRow {
  jurisdiction: string;
  currency: string;
  estimates: number;
  pending: number;
  failed: number;
  reconciled: number;
  different: number;
  estimated_minor: string;
  provider_minor: string;
  difference_minor: string;
  difference_minor_max: string;
}

const HEADINGS = ['place', 'served', 'pending', 'failed', 'equal', 'differ', 'estimated', 'provider', 'difference'];

/** `npm run tax:reconciliation`: how estimates fared against the provider, by jurisdiction and currency. */
async function report(): Promise<void> {
  const { datasource } = laneTable.tax;
  const rows = await withClient(administratorUrl(), async (client) => {
    // As the tables' owner: the lane's own login has as many connections as its pool, and none for a visitor.
    await client.query(`set role ${datasource.ownerRole}`);
    await client.query(`set search_path to ${datasource.schema}`);
    return (await client.query<ReportRow>(reportReconciliation.text)).rows;
  });
  if (rows.length === 0) {
    say('no estimates have been served');
    return;
  }
  print([HEADINGS, ...rows.map(cellsOf)]);
}

function administratorUrl(): string {
  const { migrationDatabaseUrl, databaseUrl, dataFolder } = readScriptEnvironment();
  const url = migrationDatabaseUrl ?? databaseUrl ?? embeddedAdminUrl(dataFolder);
  if (url === null) throw new SetupError('No database: start payment-core, or set MIGRATION_DATABASE_URL');
  return url;
}

function cellsOf(row: ReportRow): string[] {
  const money = (minor: string): string => `${formatMinor(BigInt(minor), row.currency)} ${row.currency}`;
  return [
    row.jurisdiction,
    String(row.estimates),
    String(row.pending),
    String(row.failed),
    String(row.reconciled - row.different),
    String(row.different),
    money(row.estimated_minor),
    money(row.provider_minor),
    row.different === 0 ? '–' : `${money(row.difference_minor)}, at most ${money(row.difference_minor_max)} in one`,
  ];
}

function print(table: readonly string[][]): void {
  const widths = HEADINGS.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  for (const cells of table) {
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

report().catch((error: unknown) => {
  say(describeFault(error));
  process.exitCode = 1;
});
