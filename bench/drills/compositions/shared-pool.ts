import { Pool, type PoolClient } from 'pg';
import { databaseProblems } from '../../../src/platform/database/database.problems';
import type { Statement, StatementRunner } from '../../../src/platform/database/statement';
import type { DependencyHealth, PoolView } from '../../../src/platform/lane-registry';
import { PaymentError } from '../../../src/shared/problem';

const OPEN_MS_MAX = 30_000;
const STATEMENT_MS_MAX = 9_000;
const WAIT_MS_MAX = 250;
const NAME = 'shared_ds';

/** One pool for all lanes: what the product does not have, to show what having it costs [ADV-FD-01]. */
export class SharedPool {
  readonly #pool: Pool;
  /** A connection looks into one schema at a time: the lanes have tables of the same name. */
  readonly #schemas = new WeakMap<PoolClient, string>();
  #opened: Promise<void> | null = null;
  #closed: Promise<void> | null = null;

  constructor(
    connectionString: string,
    private readonly connections: number,
  ) {
    this.#pool = new Pool({
      connectionString,
      application_name: NAME,
      max: connections,
      min: connections,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: OPEN_MS_MAX,
      statement_timeout: STATEMENT_MS_MAX,
      options: '-c client_connection_check_interval=500',
    });
    this.#pool.on('error', () => {});
  }

  /** All connections, before anybody is served; from then on a wait for one is as short as the lanes' own. */
  open(): Promise<void> {
    this.#opened ??= this.#openAll();
    return this.#opened;
  }

  close(): Promise<void> {
    this.#closed ??= this.#pool.end();
    return this.#closed;
  }

  /** @throws PaymentError `ERR_DATABASE_POOL_EXHAUSTED` */
  async take(schema: string): Promise<PoolClient> {
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw new PaymentError(databaseProblems.poolExhausted, 'No connection came free in time.', { cause: error });
    }
    if (this.#schemas.get(client) === schema) return client;
    try {
      await client.query(`SET search_path = ${schema}`);
      this.#schemas.set(client, schema);
      return client;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  view(): PoolView {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    const busy = totalCount - idleCount;
    return { datasource: NAME, size: this.connections, open: totalCount, idle: idleCount, busy, waiting: waitingCount };
  }

  async #openAll(): Promise<void> {
    const clients = await Promise.all(Array.from({ length: this.connections }, () => this.#pool.connect()));
    for (const client of clients) client.release();
    this.#pool.options.connectionTimeoutMillis = WAIT_MS_MAX;
  }
}

/** What a lane uses of its own `LaneDatabase`, on connections that it shares. */
export class SharedStore implements StatementRunner {
  constructor(
    private readonly pool: SharedPool,
    private readonly schema: string,
  ) {}

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const client = await this.pool.take(this.schema);
    try {
      return await this.#run<Row>(client, statement, values);
    } finally {
      client.release();
    }
  }

  async transaction<T>(work: (connection: StatementRunner) => Promise<T>): Promise<T> {
    const client = await this.pool.take(this.schema);
    try {
      await client.query('BEGIN');
      const result = await work({
        query: <Row extends object>(statement: Statement, values: readonly unknown[]) =>
          this.#run<Row>(client, statement, values),
      });
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // Whatever state it is in, nobody else gets it.
      client.release(true);
      throw error;
    }
  }

  view(): PoolView {
    return this.pool.view();
  }

  async health(): Promise<DependencyHealth> {
    return { name: NAME, status: 'up' };
  }

  async replaceConnections(): Promise<void> {}

  onApplicationShutdown(): Promise<void> {
    return this.pool.close();
  }

  /** A name is a statement's within its lane; here the lanes prepare on the same connections. */
  async #run<Row extends object>(client: PoolClient, { name, text }: Statement, values: readonly unknown[]) {
    const { rows } = await client.query<Row>({ name: `${this.schema}.${name}`, text, values: [...values] });
    return rows;
  }
}
