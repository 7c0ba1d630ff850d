import type { ClientBase } from 'pg';
import { laneTable } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import { BalanceRollUp } from '../../src/lanes/ledger/balances/balance-roll-up';
import { GenerationKeeper } from '../../src/lanes/ledger/generations/generation-keeper';
import { KnownGenerations } from '../../src/lanes/ledger/generations/known-generations';
import { systemClock } from '../../src/platform/system-clock';
import { openLedgerDatabase } from './ledger-database';

/** About what a generation holds when it turns by itself. */
export const ROWS_OF_GENERATION = 2_000_000;
/** One transaction numbers no more than 2^21 entries. */
const ROWS_OF_TRANSACTION = 2_000_000;

const COLUMNS = `id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale, idempotency_key, currency,
  merchant_id, external_transaction_id, generation`;

/**
 * Entries as ingest would have left them, balances, sums and filters included: full generations, sealed, and the rest in the
 * current one. A generation's rows are written before its indexes, which is several times faster. Nobody else may write.
 */
export async function preload(adminUrl: string, rows: number, rowsOfGeneration = ROWS_OF_GENERATION): Promise<void> {
  const database = await openLedgerDatabase(adminUrl);
  const rollUp = new BalanceRollUp({ store: database, clock: systemClock, everyMs: 1_000, onFailed: () => undefined });
  const keeper = new GenerationKeeper({
    store: database,
    known: new KnownGenerations(database),
    clock: systemClock,
    generationBytesMax: Number.MAX_SAFE_INTEGER,
    everyMs: 1_000,
    onFailed: () => undefined,
  });
  try {
    await withClient(adminUrl, async (client) => {
      await client.query(`SET search_path = ${laneTable.ledger.datasource.schema}`);
      await client.query(`SET maintenance_work_mem = '512MB'`);
      for (let from = 0; from < rows; from += rowsOfGeneration) {
        const count = Math.min(rowsOfGeneration, rows - from);
        await fill(client, from, count);
        await rollUp.run();
        if (count < rowsOfGeneration) break;
        await client.query(`SELECT ledger_prepare_generation()`);
        await client.query(`SELECT ledger_roll_generation(1)`);
        await client.query(`SELECT ledger_prepare_generation()`);
      }
      await keeper.run();
      // Otherwise autovacuum would freeze it all beside what is measured.
      await client.query('VACUUM (FREEZE, ANALYZE) ledger_journal');
    });
  } finally {
    await database.close();
  }
}

async function fill(client: ClientBase, from: number, count: number): Promise<void> {
  const { rows } = await client.query<{ generation: number }>(
    `SELECT generation FROM ledger_generations WHERE end_id IS NULL`,
  );
  const generation = rows[0]?.generation;
  if (generation === undefined) throw new Error('No generation is open');
  const table = `ledger_journal_${generation}`;
  const { rows: there } = await client.query<{ some: boolean }>(`SELECT EXISTS (SELECT FROM ${table}) AS some`);
  if (there[0]?.some === true) throw new Error('Only an empty generation is filled');
  // A new table without indexes takes its place; attached, it gets them in one go.
  await client.query(`ALTER TABLE ledger_journal DETACH PARTITION ${table}`);
  await client.query(`ALTER TABLE ${table} RENAME TO ledger_journal_empty`);
  await client.query(`CREATE TABLE ${table} (LIKE ledger_journal INCLUDING CONSTRAINTS INCLUDING GENERATED)`);
  await client.query(`ALTER TABLE ${table} OWNER TO ${laneTable.ledger.datasource.ownerRole}`);
  await client.query('DROP TABLE ledger_journal_empty');
  for (let done = 0; done < count; done += ROWS_OF_TRANSACTION) {
    await client.query(
      `INSERT INTO ${table} (${COLUMNS})
       SELECT (pg_current_xact_id()::text::bigint << 21) + n, 100 + n % 900, now(), now(), a.account_no, a.clearing_no,
         n % 10 > 0, sha256(convert_to('mer_demo_0001:preload_' || ($1::bigint + n), 'UTF8')), a.currency,
         'mer_demo_0001', 'preload_' || ($1::bigint + n), $3::integer
       FROM generate_series(1, $2::bigint) n
       JOIN ledger_accounts a ON a.account_id = 'ACC-' || lpad((1 + n % 500)::text, 4, '0')`,
      [from + done, Math.min(ROWS_OF_TRANSACTION, count - done), generation],
    );
  }
  await client.query(`ALTER TABLE ${table} ADD CONSTRAINT one_generation CHECK (generation = ${generation})`);
  await client.query(`ALTER TABLE ledger_journal ATTACH PARTITION ${table} FOR VALUES IN (${generation})`);
  await client.query(`ALTER TABLE ${table} DROP CONSTRAINT one_generation`);
}
