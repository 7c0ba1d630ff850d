import { parseArgs } from 'node:util';
import { Pool } from 'pg';
import { laneUrlFromServerUrl } from '../../config/data-sources';
import { laneTable, ledgerLimits } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import { Bulkhead } from '../../src/bulkhead/bulkhead';
import { LedgerBuffer } from '../../src/lanes/ledger/buffer/ledger-buffer';
import { Room } from '../../src/lanes/ledger/buffer/room';
import { FlushRunner } from '../../src/lanes/ledger/write/flush-runner';
import { JournalRepository } from '../../src/lanes/ledger/write/journal.repository';
import { journalStatements } from '../../src/lanes/ledger/write/journal.statements';
import { JournalWriter } from '../../src/lanes/ledger/write/journal-writer';
import { PoisonSplitter } from '../../src/lanes/ledger/write/poison-splitter';
import { LaneDatabase } from '../../src/platform/database/lane-database';
import { lanePoolConfig } from '../../src/platform/database/lane-data-source';
import { noFaults } from '../../src/platform/faults';
import { systemClock } from '../../src/platform/system-clock';
import { LatencyHistogram } from '../load/latency-histogram';
import { describeMachine } from '../load/machine';
import { type Closing, runBenchmark } from '../support/closing';
import { checkpoint, describeDurability, readDurability, readWalCounters } from '../support/durability';
import { install } from '../support/installation';
import { numberOption } from '../support/options';
import { usageOf } from '../support/process-usage';
import { ItemFactory } from './item-factory';
import { offerLoad } from './offer-load';

/**
 * The ledger's write path by itself: buffer, flush, statement; no HTTP. Compares physical designs of the journal.
 * `node dist/bench/ledger/write-path.js [--short] [--rate 16000,max] [--seconds 60] [--warm 10] [--preload 0] [--design …]`
 */
const BATCH = 100;
/** What a rate of `max` keeps in the buffer: enough for all permits, below what would refuse. */
const MAX_HELD_ITEMS = 4_000;

/** What is made of the migrated journal before a run. */
const DESIGNS: Readonly<Record<string, readonly string[]>> = {
  migrated: [],
  'key-and-account': ['DROP INDEX ledger_journal_in_order'],
  'key-only': ['DROP INDEX ledger_journal_in_order', 'DROP INDEX ledger_journal_of_account'],
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
  const designs = (values.design ?? 'migrated').split(',');
  for (const design of designs)
    if (!(design in DESIGNS)) throw new Error(`--design: ${Object.keys(DESIGNS).join(', ')}`);
  const rates = (values.rate ?? '16000,max')
    .split(',')
    .map((rate) => (rate === 'max' ? null : numberOption('rate', rate, 0, { min: BATCH, max: 1_000_000 })));
  return {
    runs: designs.flatMap((design) => rates.map((rate) => ({ design, rate }))),
    warmS: numberOption('warm', values.warm, short ? 2 : 10, { min: 0, max: 600 }),
    measureS: numberOption('seconds', values.seconds, short ? 4 : 60, { min: 1, max: 7_200 }),
    preloadRows: numberOption('preload', values.preload, 0, { min: 0, max: 1e9 }),
  };
}

async function openDatabase(adminUrl: string): Promise<LaneDatabase> {
  const { datasource, bulkhead } = laneTable.ledger;
  const { connections, connectionWaitMsMax } = datasource;
  const { executionMsMax } = bulkhead;
  const url = laneUrlFromServerUrl(adminUrl, datasource.role);
  const pool = new Pool(
    lanePoolConfig({ datasource: datasource.name, url, schema: datasource.schema, connections, executionMsMax }),
  );
  const database = new LaneDatabase(pool, {
    datasource: datasource.name,
    connections,
    connectionWaitMsMax,
    executionMsMax,
    clock: systemClock,
    observer: {},
    faults: () => noFaults,
  });
  await database.open();
  await database.prepareAll(journalStatements);
  return database;
}

interface Measured {
  readonly buffer: LedgerBuffer;
  readonly room: Room;
  readonly flush: LatencyHistogram;
  counts: { flushes: number; rows: number; statements: number; failures: number };
}

function openWritePath(database: LaneDatabase): Measured {
  const flush = new LatencyHistogram();
  const counts = { flushes: 0, rows: 0, statements: 0, failures: 0 };
  const onFailure = (_failure: unknown, error: unknown): void => {
    counts.failures += 1;
    if (counts.failures < 5) console.error(error);
  };
  const writer = new JournalWriter(new JournalRepository(database), (statement) => {
    counts.statements += 1;
    return statement();
  });
  const splitter = new PoisonSplitter({
    writer,
    clock: systemClock,
    random: Math.random,
    onFailure,
    onPoison: () => {},
  });
  const runner = new FlushRunner({ writer, splitter, clock: systemClock, random: Math.random, onFailure });
  const { name, permits, queueMax, queueWaitMsMax, executionMsMax } = laneTable.ledger.bulkhead;
  const room = new Room(ledgerLimits);
  const buffer = new LedgerBuffer({
    limits: ledgerLimits,
    room,
    clock: systemClock,
    bulkhead: new Bulkhead({ name, permits, queueMax, queueWaitMsMax, executionMsMax, background: null }, systemClock),
    flush: (rows) => runner.run(rows),
    observer: {
      onFlush: (rows) => {
        counts.flushes += 1;
        counts.rows += rows;
      },
      onFlushed: (elapsedMs) => flush.record(elapsedMs),
    },
  });
  return { buffer, room, flush, counts };
}

async function emptyJournal(adminUrl: string, design: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(`SET search_path = ${laneTable.ledger.datasource.schema}`);
    // The trigger that forbids it is switched off for this session; only a superuser can.
    await client.query(`SET session_replication_role = replica`);
    await client.query(`TRUNCATE ledger_journal, ledger_account_sums`);
    await client.query(`CREATE INDEX IF NOT EXISTS ledger_journal_in_order ON ledger_journal
      USING brin (id) WITH (pages_per_range = 16, autosummarize)`);
    await client.query(
      `CREATE UNIQUE INDEX IF NOT EXISTS ledger_journal_of_account ON ledger_journal (account_no, id)`,
    );
    for (const statement of DESIGNS[design] ?? []) await client.query(statement);
  });
}

/** Rows as ingest would have written them, in transactions of many thousand. */
async function preload(adminUrl: string, rows: number): Promise<void> {
  const step = 200_000;
  await withClient(adminUrl, async (client) => {
    await client.query(`SET search_path = ${laneTable.ledger.datasource.schema}`);
    for (let from = 0; from < rows; from += step) {
      await client.query(
        `INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
           idempotency_key, currency, merchant_id, external_transaction_id)
         SELECT (pg_current_xact_id()::text::bigint << 21) + n, 100 + n % 900, now(), now(), a.account_no, a.clearing_no,
           true, sha256(convert_to('mer_demo_0001:preload_' || ($1::bigint + n), 'UTF8')), a.currency, 'mer_demo_0001',
           'preload_' || ($1::bigint + n)
         FROM generate_series(1, $2::bigint) n
         JOIN ledger_accounts a ON a.account_id = 'ACC-' || lpad((1 + n % 500)::text, 4, '0')`,
        [from, Math.min(step, rows - from)],
      );
    }
    await client.query('VACUUM ANALYZE ledger_journal');
  });
}

async function measure(adminUrl: string, postmasterPid: number, run: Run, plan: Plan, closing: Closing): Promise<void> {
  await emptyJournal(adminUrl, run.design);
  if (plan.preloadRows > 0) await preload(adminUrl, plan.preloadRows);
  await checkpoint(adminUrl);
  const database = await openDatabase(adminUrl);
  const { buffer, room, flush, counts } = openWritePath(database);
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
  await buffer.drain();
  buffer.close();
  await database.close();
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
  for (const run of plan.runs) await measure(adminUrl, postmasterPid, run, plan, closing);
  return 0;
});
