import { writeFileSync } from 'node:fs';
import { say } from '../setup/report';
import { SetupError } from '../setup/setup-error';
import { Authority, authoritySchema, jurisdictionsSchema } from './authority';
import { runCommand } from './command';
import { compensationPaths, readNeeded, todayUtc } from './places';
import { buildTable } from './table-builder';
import { withProvider } from './with-provider';

const COMMITTED = 'it is part of the repository, restore it';

/** `npm run compensation:build`: writes the table as the provider has it today. It is worth nothing until it is certified. */
async function build(): Promise<void> {
  const read = (path: string): unknown => JSON.parse(Buffer.from(readNeeded(path, COMMITTED)).toString('utf8'));
  const authority = new Authority(authoritySchema.parse(read(compensationPaths.authority)));
  const jurisdictions = jurisdictionsSchema.parse(read(compensationPaths.jurisdictions));
  const { file, missing } = await withProvider((provider) =>
    buildTable({ provider, jurisdictions, authority, today: todayUtc() }),
  );
  if (missing.length > 0) {
    throw new SetupError(
      `The provider has no rate for ${missing.join(', ')}: exclude these places in the authority's file, with a reason`,
    );
  }
  writeFileSync(compensationPaths.table, tableText(file));
  say(`${file.rows.length} rows written; certify them with \`npm run compensation:certify\``);
}

/** One row a line, so that a change of a rate is a change of a line. */
function tableText({ rows, ...rest }: Awaited<ReturnType<typeof buildTable>>['file']): string {
  const head = JSON.stringify({ ...rest, rows: [] }, null, 2).replace(/"rows": \[\]\n}$/, '"rows": [');
  return `${head}\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]\n}\n`;
}

runCommand(build);
