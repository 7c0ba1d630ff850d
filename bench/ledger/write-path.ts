import { parseArgs } from 'node:util';
import { laneTable, ledgerLimits } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import { LatencyHistogram } from '../load/latency-histogram';
import { describeMachine } from '../load/machine';
import { type Closing, runBenchmark } from '../support/closing';
import { checkpoint, describeDurability, readDurability, readWalCounters } from '../support/durability';
import { install } from '../support/installation';
import { numberOption } from '../support/options';
import { usageOf } from '../support/process-usage';
import { ItemFactory } from './item-factory';
import { offerLoad } from './offer-load';
import { openWritePath } from './open-write-path';
import { preload, ROWS_OF_GENERATION } from './preload';

/**
 * The ledger's write path by itself: buffer, flush, statement; no HTTP. Compares physical designs of the journal.
 * `npm run bench:ledger-write-path -- [--short] [--rate 16000,max] [--seconds 60] [--warm 10] [--preload 0] [--design …]`
 */
const BATCH = 100;
/** What a rate of `max` keeps in the buffer: enough for all permits, below what would refuse. */
const MAX_HELD_ITEMS = 4_000;

interface Design {
  /** Turns to a new generation as the lane does; else one table takes everything. */
  readonly divided: boolean;
  /** What is made of the migrated journal. */
  readonly changes: readonly string[];
}

const DROP_ORDER = 'DROP INDEX ledger_journal_in_order';
const DESIGNS: Readonly<Record<string, Design>> = {
  generations: { divided: true, changes: [] },
  'generations-order-brin': {
    divided: true,
    changes: [
      DROP_ORDER,
      `CREATE INDEX ledger_journal_in_order ON ledger_journal USING brin (id) WITH (pages_per_range = 16, autosummarize)`,
    ],
  },
  'one-table': { divided: false, changes: [] },
  'one-table-key-only': { divided: false, changes: [DROP_ORDER, 'DROP INDEX ledger_journal_of_account'] },
};

interface Run {
  readonly design: string;
  /** Items a second; null for as many as it takes. */
  readonly rate: number | null;
}

interface Plan {
  readonly runs: readonly Run[];
  readonly warmS: number;
  readonly measureS: number;
  readonly preloadRows: number;
}

function readPlan(): Plan {
  const { values } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      rate: { type: 'string' },
      seconds: { type: 'string' },
      warm: { type: 'string' },
      preload: { type: 'string' },
      design: { type: 'string' },
    },
  });
  const { short } = values;
  const designs = (values.design ?? 'generations').split(',');
  for (const design of designs)
    if (!(design in DESIGNS)) throw new Error(`--design: ${Object.keys(DESIGNS).join(', ')}`);
  const rates = (values.rate ?? '16000,max')
    .split(',')
    .map((rate) => (rate === 'max' ? null : numberOption('rate', rate, 0, { min: BATCH, max: 1_000_000 })));
  return {
    runs: designs.flatMap((design) => rates.map((rate) => ({ design, rate }))),
    warmS: numberOption('warm', values.warm, short ? 1 : 10, { min: 0, max: 600 }),
    measureS: numberOption('seconds', values.seconds, short ? 2 : 60, { min: 1, max: 7_200 }),
    preloadRows: numberOption('preload', values.preload, 0, { min: 0, max: 1e9 }),
  };
}

/** The trigger that forbids it is switched off for this session; only a superuser can. */
async function emptyJournal(adminUrl: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(`SET search_path = ${laneTable.ledger.datasource.schema}`);
    await client.query(`SET session_replication_role = replica`);
    await client.query(
      `TRUNCATE ledger_journal, ledger_account_sums, ledger_generation_sums, ledger_generation_filters`,
    );
    const { rows } = await client.query<{ generation: number }>(
      `DELETE FROM ledger_generations WHERE end_id IS NOT NULL RETURNING generation`,
    );
    for (const { generation } of rows) await client.query(`DROP TABLE ledger_journal_${generation}`);
    await client.query('DROP INDEX IF EXISTS ledger_journal_in_order');
    await client.query('CREATE INDEX ledger_journal_in_order ON ledger_journal (id)');
    await client.query(`CREATE INDEX IF NOT EXISTS ledger_journal_of_account ON ledger_journal (account_no, id)`);
  });
}

async function change(adminUrl: string, statements: readonly string[]): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(`SET search_path = ${laneTable.ledger.datasource.schema}`);
    for (const statement of statements) await client.query(statement);
  });
}

/** The journal as the design has it, with what is there before anything is measured. */
async function prepare(adminUrl: string, { changes, divided }: Design, rows: number): Promise<void> {
  await emptyJournal(adminUrl);
  const startedMs = performance.now();
  if (rows > 0) await preload(adminUrl, rows, divided ? ROWS_OF_GENERATION : rows + 1);
  await change(adminUrl, changes);
  if (rows > 0) console.log(`preloaded ${rows} entries in ${Math.round((performance.now() - startedMs) / 1_000)} s`);
}

async function measure(adminUrl: string, postmasterPid: number, run: Run, plan: Plan, closing: Closing): Promise<void> {
  const { divided } = DESIGNS[run.design] as Design;
  await checkpoint(adminUrl);
  const path = await openWritePath(adminUrl, divided ? ledgerLimits.generationBytesMax : Number.MAX_SAFE_INTEGER);
  const { buffer, room, flush, counts } = path;
  const items = new ItemFactory(`${run.design}-${run.rate ?? 'max'}-${process.pid}`);
  const write = new LatencyHistogram();
  const offer = (seconds: number): ReturnType<typeof offerLoad> =>
    offerLoad({ buffer, room, items, write, batch: BATCH, rate: run.rate, heldMax: MAX_HELD_ITEMS, seconds });
  if (plan.warmS > 0) await offer(plan.warmS);
  closing.check();
  write.reset();
  flush.reset();
  Object.assign(counts, { flushes: 0, rows: 0, statements: 0, failures: 0 });
  const before = { wal: await readWalCounters(adminUrl), cpu: process.cpuUsage(), postgres: usageOf(postmasterPid) };
  const { committed, failed, refused, elapsedMs } = await offer(plan.measureS);
  const wal = await readWalCounters(adminUrl);
  const cpu = process.cpuUsage(before.cpu);
  await path.close();
  const show = (histogram: LatencyHistogram): string => {
    const figures = histogram.figures();
    return figures === null ? '-' : `p50 ${figures.p50} p99 ${figures.p99} p99.9 ${figures.p999} max ${figures.max} ms`;
  };
  console.log(
    [
      `${run.design} at ${run.rate ?? 'max'}/s: ${Math.round((committed / elapsedMs) * 1_000)} committed/s, ` +
        `${failed} failed, ${refused} refused, ${counts.failures} statements failed`,
      `  write ${show(write)}`,
      `  flush ${show(flush)}; ${Math.round(counts.rows / Math.max(1, counts.flushes))} rows a flush, ` +
        `${((1 - counts.statements / Math.max(1, committed)) * 100).toFixed(2)} % of the round trips saved`,
      `  CPU of this process ${(((cpu.user + cpu.system) / elapsedMs / 1_000) * 100).toFixed(0)} %, ` +
        `WAL ${Math.round((wal.walBytes - before.wal.walBytes) / Math.max(1, committed))} bytes an item, ` +
        `${wal.checkpoints - before.wal.checkpoints} checkpoints`,
    ].join('\n'),
  );
}

void runBenchmark(async (closing) => {
  const plan = readPlan();
  const machine = describeMachine();
  console.log(`${machine.cpus} × ${machine.model}, Node ${machine.node}`);
  const { adminUrl, postmasterPid } = await install(closing);
  console.log(describeDurability(await readDurability(adminUrl)));
  let prepared: string | null = null;
  for (const run of plan.runs) {
    closing.check();
    if (run.design !== prepared) await prepare(adminUrl, DESIGNS[run.design] as Design, plan.preloadRows);
    prepared = run.design;
    await measure(adminUrl, postmasterPid, run, plan, closing);
  }
  return 0;
});
