import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import type { Clock } from '../../../src/shared/clock';
import { systemClock } from '../../../src/platform/system-clock';
import { type LaneFaults, noFaults } from '../../../src/platform/faults';
import { type DatabaseObserver, LaneDatabase } from '../../../src/platform/database/lane-database';
import { testPostgres } from '../../support/services';
import { lanePoolConfig } from '../../../src/platform/database/lane-data-source';

interface LaneOverrides {
  url?: string;
  connections?: number;
  connectionWaitMsMax?: number;
  executionMsMax?: number;
  heldMsMax?: number;
  observer?: DatabaseObserver;
  faults?: () => LaneFaults;
  clock?: Clock;
}

/** A database that nobody has provisioned: provisioning closes the maintenance database to other roles. */
async function ownDatabase(adminUrl: string): Promise<string> {
  const name = `platform_${randomBytes(8).toString('hex')}`;
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`create database ${name} template template0`);
  await client.end();
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

/** Pools under test on a server, and a superuser's look at that server from outside. */
export class PlatformDatabase {
  readonly #admin: Client;
  readonly #url: string;
  readonly #names = new WeakMap<LaneDatabase, string>();
  #count = 0;

  private constructor(admin: Client, url: string) {
    this.#admin = admin;
    admin.on('error', () => undefined);
    this.#url = url;
  }

  static async open(adminUrl: string): Promise<PlatformDatabase> {
    const url = await ownDatabase(adminUrl);
    const admin = new Client({ connectionString: url });
    await admin.connect();
    return new PlatformDatabase(admin, url);
  }

  lane(overrides: LaneOverrides = {}): LaneDatabase {
    const datasource = `platform_ds_${process.pid}_${(this.#count += 1)}`;
    const connections = overrides.connections ?? 4;
    const executionMsMax = overrides.executionMsMax ?? 10_000;
    const url = overrides.url ?? this.#url;
    const pool = new Pool(lanePoolConfig({ datasource, url, schema: 'public', connections, executionMsMax }));
    const database = new LaneDatabase(pool, {
      datasource,
      connections,
      executionMsMax,
      connectionWaitMsMax: overrides.connectionWaitMsMax ?? 250,
      ...(overrides.heldMsMax === undefined ? {} : { heldMsMax: overrides.heldMsMax }),
      clock: overrides.clock ?? systemClock,
      observer: overrides.observer ?? {},
      faults: overrides.faults ?? (() => noFaults),
    });
    this.#names.set(database, datasource);
    return database;
  }

  async backendPids(database: LaneDatabase): Promise<number[]> {
    const { rows } = await this.#admin.query<{ pid: number }>(
      'select pid from pg_stat_activity where application_name = $1',
      [this.#names.get(database)],
    );
    return rows.map(({ pid }) => pid);
  }

  async backends(database: LaneDatabase): Promise<number> {
    return (await this.backendPids(database)).length;
  }

  async activeBackends(database: LaneDatabase): Promise<number> {
    const { rows } = await this.#admin.query(
      `select pid from pg_stat_activity where application_name = $1 and state <> 'idle'`,
      [this.#names.get(database)],
    );
    return rows.length;
  }

  async terminateBackends(database: LaneDatabase): Promise<void> {
    await this.#admin.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
      this.#names.get(database),
    ]);
  }

  /** Sessions that the server has ever begun in this database: a login of any kind moves it. */
  async connectionsOpened(): Promise<number> {
    await this.#admin.query('select pg_stat_clear_snapshot()');
    const { rows } = await this.#admin.query<{ sessions: string }>(
      'select sessions from pg_stat_database where datname = current_database()',
    );
    return Number(rows[0]?.sessions);
  }

  /** How many statements each connection has prepared, taken from all of them at the same time. */
  preparedStatements(database: LaneDatabase, connections: number): Promise<number[]> {
    let arrived = 0;
    let open = (): void => {};
    const all = new Promise<void>((resolve) => (open = resolve));
    return Promise.all(
      Array.from({ length: connections }, () =>
        database.transaction(async (connection) => {
          arrived += 1;
          if (arrived === connections) open();
          await all;
          const text = `select name from pg_prepared_statements where name <> 'count_prepared'`;
          return (await connection.query({ name: 'count_prepared', text }, [])).length;
        }),
      ),
    );
  }

  async limitedRole(connectionLimit: number): Promise<{ name: string; url: string }> {
    const name = `limited_${randomBytes(4).toString('hex')}`;
    await this.#admin.query(`create role ${name} login password 'secret' connection limit ${connectionLimit}`);
    const url = new URL(this.#url);
    url.username = name;
    url.password = 'secret';
    return { name, url: url.toString() };
  }

  async run(sql: string): Promise<void> {
    await this.#admin.query(sql);
  }

  async close(): Promise<void> {
    await this.#admin.end();
  }
}

/** On the worker's own server, in an empty database: pools need no tables. */
export async function openPlatformDatabase(): Promise<PlatformDatabase> {
  const postgres = await testPostgres();
  return PlatformDatabase.open(postgres.adminUrl());
}
