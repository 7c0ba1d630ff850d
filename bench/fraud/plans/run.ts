import type { ClientBase } from 'pg';
import { laneTable } from '../../../config/lanes';
import { withClient } from '../../../scripts/setup/postgres-client';
import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { install } from '../../support/installation';
import { numberOption, parseOptions } from '../../support/options';
import { describePlace, recordedFile, resultHead, writeResult } from '../../support/results';
import { cell, renderTable } from '../../support/table';
import { runCommand } from '../../support/run-command';
import { type ExplainedStatement, readingOf, storingOf } from './explained-statements';
import { type HistoryOptions, loadHistory } from './history';
import { explain, nodesOf, type PlanNode, scansOf } from './plan';

const USAGE = `What an evaluation reads of a history of any size.

  --attempts N      rows of history (default 10,000,000; 100,000,000 need some 20 GB and an hour)
  --cards N         cards that they are spread over (default a tenth of the attempts)
  --busy N          attempts of one card in its last day, besides (default 100,000)
  --short           300,000 attempts: only to show that this still works
  --out FILE        the result as JSON (default bench/results/fraud-plans.json; with --short none)`;

/** Within the 90 days that facts look back. */
const DAYS = 88;
const BUSY_CARD = 1;
const USUAL_CARD = 2;
const REPEATS = 20;

interface Options extends HistoryOptions {
  readonly out: string | null;
}

interface Reading {
  readonly what: string;
  readonly rowsRead: number;
  readonly weeksRead: number;
  readonly weeksPruned: number;
  readonly blocks: number;
  readonly executionMsMedian: number;
}

function readOptions(argv: readonly string[]): Options | null {
  const values = parseOptions(argv, {
    attempts: { type: 'string' },
    cards: { type: 'string' },
    busy: { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  if (values.help === true) return null;
  const short = values.short === true;
  const attempts = numberOption('attempts', values.attempts, short ? 300_000 : 10_000_000, { min: 1_000, max: 2e8 });
  return {
    attempts,
    cards: numberOption('cards', values.cards, Math.ceil(attempts / 10), { min: 2, max: 1e8 }),
    days: DAYS,
    busyAttempts: numberOption('busy', values.busy, short ? 30_000 : 100_000, { min: 0, max: 1e7 }),
    out: values.out ?? (short ? null : recordedFile('fraud-plans')),
  };
}

async function readingsOf(client: ClientBase, firstCardId: number): Promise<Reading[]> {
  const cards = [
    { card: USUAL_CARD, name: 'a usual card' },
    { card: BUSY_CARD, name: 'a busy card' },
  ];
  const readings: Reading[] = [];
  for (const { card, name } of cards) {
    readings.push(await readingFor(client, `facts of ${name}`, readingOf(card)));
    readings.push(await readingFor(client, `result for ${name}`, storingOf(card, firstCardId + card - 1)));
  }
  return readings;
}

/** As the lane's connections plan it after some executions; the median of some, the plan of the last. */
async function readingFor(client: ClientBase, what: string, explained: ExplainedStatement): Promise<Reading> {
  const { statement, ...rest } = explained;
  const times: number[] = [];
  let plan: PlanNode | null = null;
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const run = await explain(client, statement, { ...rest, mode: 'force_generic_plan' });
    times.push(run.executionMs);
    plan = run.plan;
  }
  if (plan === null) throw new Error('Nothing was explained');
  const scans = scansOf(plan, 'attempts').filter((node) => node['Actual Loops'] > 0);
  return {
    what,
    rowsRead: scans.reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0),
    weeksRead: scans.length,
    weeksPruned: nodesOf(plan).reduce((sum, node) => sum + (node['Subplans Removed'] ?? 0), 0),
    blocks: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    executionMsMedian: times.sort((a, b) => a - b)[Math.floor(REPEATS / 2)] ?? Number.NaN,
  };
}

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('fraud-plans', durability);
  console.log(describeDurability(durability));
  const { schema, ownerRole } = laneTable.fraud.datasource;
  const session = { options: `-c role=${ownerRole} -c search_path=${schema}` };
  const readings = await withClient(
    installation.adminUrl,
    async (client) => {
      console.log(`loading ${options.attempts} attempts of ${options.cards} cards …`);
      return readingsOf(client, await loadHistory(client, options));
    },
    session,
  );
  writeResult(options.out, { ...head, options, readings });
  const rows = readings.map((each) => [
    each.what,
    ...[each.rowsRead, each.weeksRead, each.weeksPruned, each.blocks].map(String),
    cell(each.executionMsMedian, 3),
  ]);
  console.log(renderTable([['statement', 'rows of history', 'weeks', 'pruned', 'blocks', 'ms (median)'], ...rows]));
  console.log(describePlace(options.out));
  return 0;
}

runCommand(USAGE, readOptions, benchmark);
