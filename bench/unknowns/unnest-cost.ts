import type { Statement } from '../../src/platform/database/statement';
import { KnownGenerations } from '../../src/lanes/ledger/generations/known-generations';
import type { PendingRow } from '../../src/lanes/ledger/write/journal';
import { JournalRepository } from '../../src/lanes/ledger/write/journal.repository';
import { ItemFactory } from '../ledger/item-factory';
import { openLedgerDatabase } from '../ledger/ledger-database';
import { describeMachine } from '../load/machine';
import { runBenchmark } from '../support/closing';
import { install } from '../support/installation';
import { numberOption, parseOptions } from '../support/options';
import { percentileOfSorted } from '../support/statistics';

/**
 * What a flush pays for handing 500 rows over as arrays (contract 16): making the parameters here, and a statement that does
 * nothing but read them there; in the binary format that the lane sends, and as the driver's own text.
 * `npm run measure:unnest`
 */
const ROWS = 500;
const COLUMNS = 8;
const WARM_UP = 200;
const TYPES = `$1::bytea[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[], $7::text[], $8::timestamptz[]`;
const readArrays: Statement = {
  name: 'unnest_cost',
  text: `SELECT count(*) FROM unnest(${TYPES}) AS q (a, b, c, d, e, f, g, h)`,
};
const nothing: Statement = { name: 'unnest_cost_nothing', text: 'SELECT 1' };

interface Way {
  readonly name: string;
  run(): unknown;
}

async function timed(rounds: number, { run }: Way): Promise<number[]> {
  const times: number[] = [];
  for (let round = -WARM_UP; round < rounds; round += 1) {
    const startedMs = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - startedMs);
  }
  return times.sort((left, right) => left - right);
}

/** The lane's own parameters, taken where they would go to the database. */
async function parametersOf(rows: readonly PendingRow[]): Promise<readonly unknown[]> {
  let taken: readonly unknown[] = [];
  const store = {
    query: (statement: Statement, values: readonly unknown[]) => {
      if (statement.name === 'ledger_insert_entries') taken = values;
      return Promise.resolve([{ generation: 1, sealed: false }] as never);
    },
  };
  await new JournalRepository(store, new KnownGenerations(store)).insert(rows, 0);
  return taken.slice(0, COLUMNS);
}

function textParametersOf(rows: readonly PendingRow[]): readonly unknown[] {
  const items = rows.map(({ item }) => item);
  return [
    items.map(({ idempotencyKey }) => Buffer.from(idempotencyKey, 'hex')),
    items.map(({ merchantId }) => merchantId),
    items.map(({ externalTransactionId }) => externalTransactionId),
    items.map(({ accountId }) => accountId),
    items.map(({ type }) => type === 'SALE'),
    items.map(({ amountMinor }) => amountMinor),
    items.map(({ currency }) => currency),
    items.map(({ occurredAtMicros }) => new Date(occurredAtMicros / 1_000).toISOString()),
  ];
}

void runBenchmark(async (closing) => {
  const values = parseOptions(process.argv.slice(2), { rounds: { type: 'string' } });
  const rounds = numberOption('rounds', values.rounds, 2_000, { min: 1, max: 1e6 });
  const { adminUrl } = await install(closing);
  const database = await openLedgerDatabase(adminUrl);
  closing.add('the pool', () => database.close());
  const rows = new ItemFactory('unnest')
    .batch(ROWS)
    .map((item): PendingRow => ({ item, wanted: true, inDoubt: false, settle: () => undefined }));
  const [binary, one, text] = [await parametersOf(rows), await parametersOf(rows.slice(0, 1)), textParametersOf(rows)];
  const ways: readonly Way[] = [
    { name: 'making the parameters, binary', run: () => parametersOf(rows) },
    { name: 'a statement without parameters', run: () => database.query(nothing, []) },
    { name: 'reading arrays of 1 element', run: () => database.query(readArrays, one) },
    { name: `reading arrays of ${ROWS}, binary`, run: () => database.query(readArrays, binary) },
    { name: `making and reading arrays of ${ROWS}, text`, run: () => database.query(readArrays, text) },
  ];
  const { cpus, model, kernel, node } = describeMachine();
  console.log(`machine: ${cpus} × ${model}, kernel ${kernel}, Node ${node}; ${rounds} rounds after ${WARM_UP}`);
  for (const way of ways) {
    const times = await timed(rounds, way);
    const show = (part: number): string => percentileOfSorted(times, part).toFixed(3);
    console.log(`${way.name}: p50 ${show(0.5)} ms, p99 ${show(0.99)} ms`);
  }
  return 0;
});
