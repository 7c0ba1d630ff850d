import { type Client, Pool, type PoolClient } from 'pg';
import { DataSource, EntitySchema } from 'typeorm';
import { laneTable, ledgerLimits } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import type { LedgerItem } from '../../src/lanes/ledger/ledger';
import { LatencyHistogram } from '../load/latency-histogram';
import type { Closing } from '../support/closing';
import { copyIn } from './copy-in';
import { ItemFactory } from './item-factory';
import { offerLoad } from './offer-load';
import { openWritePath } from './open-write-path';

/** How many rows a second one way of writing them committed, as many at a time as it takes. */
export interface Way {
  readonly name: string;
  readonly rowsPerSecond: number;
}

const TABLE = 'ledger_compared';
const ROWS = 500;
const ROWS_OF_COPY = 5_000;
/** Statements at a time: as many as the lane's flushes. */
const WRITERS = 8;
const HELD_ITEMS = 4_000;

/** A row as the journal has it; the other ways are told the accounts' numbers, which ours looks up. */
type Row = ReturnType<RowFactory['next']>;

class RowFactory {
  #id = 0;
  readonly #items: ItemFactory;

  constructor(
    run: string,
    private readonly accounts: ReadonlyMap<string, { readonly account_no: number; readonly clearing_no: number }>,
  ) {
    this.#items = new ItemFactory(run);
  }

  batch(count: number) {
    return this.#items.batch(count).map((item) => this.next(item));
  }

  next(item: LedgerItem) {
    const account = this.accounts.get(item.accountId);
    if (account === undefined) throw new Error(`No account ${item.accountId}`);
    return {
      id: String((this.#id += 1)),
      amount_minor: String(item.amountMinor),
      occurred_at: new Date(item.occurredAtMicros / 1_000),
      recorded_at: new Date(),
      account_no: account.account_no,
      clearing_no: account.clearing_no,
      is_sale: item.type === 'SALE',
      idempotency_key: Buffer.from(item.idempotencyKey, 'hex'),
      currency: item.currency,
      merchant_id: item.merchantId,
      external_transaction_id: item.externalTransactionId,
      generation: 1,
    };
  }
}

const compared = new EntitySchema<Row>({
  name: 'ComparedEntry',
  tableName: TABLE,
  columns: {
    id: { type: 'bigint', primary: true },
    amount_minor: { type: 'bigint' },
    occurred_at: { type: 'timestamptz' },
    recorded_at: { type: 'timestamptz' },
    account_no: { type: 'integer' },
    clearing_no: { type: 'integer' },
    is_sale: { type: 'boolean' },
    idempotency_key: { type: 'bytea' },
    currency: { type: 'text' },
    merchant_id: { type: 'text' },
    external_transaction_id: { type: 'text' },
    generation: { type: 'integer' },
  },
});
const COLUMNS = Object.keys(compared.options.columns);

/** The same rows, into a table with the same indexes, by what is usual; and by the lane's own write path. */
export async function compareWays(adminUrl: string, seconds: number, closing: Closing): Promise<Way[]> {
  const { schema } = laneTable.ledger.datasource;
  const pool = new Pool({ connectionString: adminUrl, max: WRITERS, options: `-c search_path=${schema}` });
  const orm = await new DataSource({
    type: 'postgres',
    url: adminUrl,
    schema,
    entities: [compared],
    poolSize: WRITERS,
  }).initialize();
  const entries = orm.getRepository(compared);
  const ways: Way[] = [];
  try {
    const accounts = await withClient(adminUrl, (client) => prepare(client as Client, schema));
    const measure = async (name: string, rows: number, write: (batch: Row[]) => Promise<unknown>): Promise<void> => {
      closing.check();
      await pool.query(`TRUNCATE ${TABLE}`);
      const factory = new RowFactory(`${name} ${Date.now()}`, accounts);
      ways.push({ name, rowsPerSecond: await rowsPerSecond(seconds, () => factory.batch(rows), write) });
    };
    await measure('one INSERT per item, TypeORM', 1, (batch) => entries.insert(batch[0] as Row));
    await measure(`${ROWS} rows, TypeORM`, ROWS, (batch) =>
      entries.createQueryBuilder().insert().values(batch).orIgnore().updateEntity(false).execute(),
    );
    await measure(`${ROWS} rows, VALUES, prepared`, ROWS, (batch) =>
      pool.query({ name: 'values', text: VALUES_TEXT, values: batch.flatMap((row) => Object.values(row)) }),
    );
    await measure(`COPY, ${ROWS_OF_COPY} rows`, ROWS_OF_COPY, (batch) =>
      withPoolClient(pool, (client) => copy(client, batch)),
    );
    await pool.query(`DROP TABLE ${TABLE}`);
    ways.push({ name: 'the lane’s own write path', rowsPerSecond: await ownRowsPerSecond(adminUrl, seconds) });
    return ways;
  } finally {
    await orm.destroy();
    await pool.end();
  }
}

const VALUES_TEXT = `INSERT INTO ${TABLE} (${COLUMNS.join(', ')}) VALUES ${Array.from(
  { length: ROWS },
  (_, row) => `(${COLUMNS.map((_name, column) => `$${row * COLUMNS.length + column + 1}`).join(',')})`,
).join(',')} ON CONFLICT DO NOTHING`;

async function prepare(client: Client, schema: string) {
  await client.query(`SET search_path = ${schema}`);
  await client.query(`DROP TABLE IF EXISTS ${TABLE}`);
  await client.query(`CREATE TABLE ${TABLE} (LIKE ledger_journal INCLUDING ALL)`);
  const { rows } = await client.query<{ account_id: string; account_no: number; clearing_no: number }>(
    `SELECT account_id, account_no, clearing_no FROM ledger_accounts WHERE clearing_no IS NOT NULL`,
  );
  return new Map(rows.map((row) => [row.account_id, row]));
}

async function rowsPerSecond(
  seconds: number,
  make: () => Row[],
  write: (batch: Row[]) => Promise<unknown>,
): Promise<number> {
  const startedMs = performance.now();
  let rows = 0;
  await Promise.all(
    Array.from({ length: WRITERS }, async () => {
      while (performance.now() - startedMs < seconds * 1_000) {
        const batch = make();
        await write(batch);
        rows += batch.length;
      }
    }),
  );
  return Math.round(rows / ((performance.now() - startedMs) / 1_000));
}

async function withPoolClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release();
  }
}

function copy(client: PoolClient, batch: readonly Row[]): Promise<void> {
  const lines = batch.map((row) =>
    Object.values(row)
      .map((value) => {
        if (value instanceof Date) return value.toISOString();
        return Buffer.isBuffer(value) ? `\\\\x${value.toString('hex')}` : String(value);
      })
      .join('\t'),
  );
  return copyIn(client, `COPY ${TABLE} (${COLUMNS.join(', ')}) FROM STDIN`, `${lines.join('\n')}\n`);
}

async function ownRowsPerSecond(adminUrl: string, seconds: number): Promise<number> {
  const path = await openWritePath(adminUrl, ledgerLimits.generationBytesMax);
  const { buffer, room } = path;
  const items = new ItemFactory(`own ${Date.now()}`);
  const write = new LatencyHistogram();
  const offer = { buffer, room, items, write, batch: 100, rate: null, heldMax: HELD_ITEMS };
  await offerLoad({ ...offer, seconds: Math.min(seconds, 3) });
  const { committed, elapsedMs } = await offerLoad({ ...offer, seconds });
  await path.close();
  return Math.round((committed / elapsedMs) * 1_000);
}
