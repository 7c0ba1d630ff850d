import { join } from 'node:path';
import { Client } from 'pg';
import { type DatasourceSpecification, type Lane, LANES, laneTable } from '../../../config/lanes';
import { demoData } from '../../../scripts/setup/demo';
import { loadDemoData } from '../../../scripts/setup/demo/load-demo';
import { loadMigrations, migrateLanes } from '../../../scripts/setup/migrate-lanes';
import { withClient, withDatabase } from '../../../scripts/setup/postgres-client';
import { projectRoot } from '../../../scripts/setup/project';
import { lanePlaces } from '../../../scripts/setup/lane-place';
import { provision } from '../../../scripts/setup/provision';
import { startOwnCluster, type TestPostgres } from '../../support/services';

const datasources = Object.fromEntries(LANES.map((lane) => [lane, laneTable[lane].datasource])) as Record<
  Lane,
  DatasourceSpecification
>;
const places = lanePlaces({
  datasources,
  processes: 1,
  passwordOf: (lane) => `password-of-${lane}`,
});
// `require` here is Jest's: it compiles the sources on the way.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const load = (file: string): unknown => require(file) as unknown;

function urlAs(adminUrl: string, user: string, password: string): string {
  const url = new URL(adminUrl);
  url.username = user;
  url.password = password;
  return url.toString();
}

describe('setting the lanes up in a database', () => {
  let postgres: TestPostgres;
  let adminUrl: string;

  beforeEach(async () => {
    postgres = await startOwnCluster({ durable: false });
    adminUrl = postgres.adminUrl('payments');
  });

  const query = async <Row extends object>(url: string, text: string): Promise<Row[]> =>
    withClient(url, async (client) => (await client.query<Row>(text)).rows);

  test('creates the database, and again changes nothing', async () => {
    for (let time = 0; time < 2; time += 1) await provision({ adminUrl, places, dedicatedServer: true });
    const rows = await query<{
      rolname: string;
      rolcanlogin: boolean;
      rolconnlimit: number;
    }>(
      adminUrl,
      "select rolname, rolcanlogin, rolconnlimit from pg_roles where rolname ~ '_(app|owner)$' and rolname !~ '^pg_' order by rolname",
    );
    expect(rows).toEqual([
      { rolname: 'card_auth_app', rolcanlogin: true, rolconnlimit: 40 },
      { rolname: 'card_auth_owner', rolcanlogin: false, rolconnlimit: -1 },
      { rolname: 'fraud_app', rolcanlogin: true, rolconnlimit: 15 },
      { rolname: 'fraud_owner', rolcanlogin: false, rolconnlimit: -1 },
      { rolname: 'ledger_app', rolcanlogin: true, rolconnlimit: 12 },
      { rolname: 'ledger_owner', rolcanlogin: false, rolconnlimit: -1 },
      { rolname: 'tax_app', rolcanlogin: true, rolconnlimit: 5 },
      { rolname: 'tax_owner', rolcanlogin: false, rolconnlimit: -1 },
    ]);
  });

  test('a lane uses its own schema only, creates nothing in it, and connects to no other database', async () => {
    await provision({ adminUrl, places, dedicatedServer: true });
    const taxUrl = urlAs(adminUrl, 'tax_app', 'password-of-tax');
    const rows = await query<{ schema: string }>(
      taxUrl,
      `select nspname as schema from pg_namespace
        where has_schema_privilege(oid, 'usage') and nspname !~ '^pg_' and nspname <> 'information_schema'`,
    );
    expect(rows).toEqual([{ schema: 'tax' }]);
    await expect(query(taxUrl, 'create table stray (id int)')).rejects.toMatchObject({ code: '42501' });
    await expect(query(taxUrl, 'create temporary table stray (id int)')).rejects.toMatchObject({ code: '42501' });
    await expect(query(taxUrl, 'set role tax_owner')).rejects.toMatchObject({
      code: '42501',
    });
    await expect(query(withDatabase(taxUrl, 'postgres'), 'select 1')).rejects.toMatchObject({ code: '42501' });
  });

  test('a role holds as many connections as its lane, and not one more', async () => {
    await provision({ adminUrl, places, dedicatedServer: true });
    const clients = Array.from(
      { length: 5 },
      () =>
        new Client({
          connectionString: urlAs(adminUrl, 'tax_app', 'password-of-tax'),
        }),
    );
    try {
      for (const client of clients) await client.connect();
      const extra = new Client({
        connectionString: urlAs(adminUrl, 'tax_app', 'password-of-tax'),
      });
      await expect(extra.connect()).rejects.toMatchObject({ code: '53300' });
    } finally {
      for (const client of clients) await client.end();
    }
  });

  test('an administrator who is no superuser needs CREATEROLE and the database, and is told which is missing', async () => {
    const maintenance = postgres.adminUrl();
    await query(maintenance, "create role dba login password 'dba'");
    await query(maintenance, 'create database payments');
    const dbaUrl = urlAs(adminUrl, 'dba', 'dba');
    await expect(provision({ adminUrl: dbaUrl, places, dedicatedServer: false })).rejects.toThrow(
      /ALTER ROLE dba CREATEROLE\n.*GRANT CREATE ON DATABASE payments TO dba/s,
    );
    await query(maintenance, 'alter role dba createrole');
    await query(maintenance, 'alter database payments owner to dba');
    for (let time = 0; time < 2; time += 1) await provision({ adminUrl: dbaUrl, places, dedicatedServer: false });
    const migrations = loadMigrations(join(projectRoot, 'migrations'), load);
    const migrated = await migrateLanes({
      adminUrl: dbaUrl,
      datasources,
      migrations,
    });
    expect(migrated.find(({ lane }) => lane === 'authorization')?.executed).not.toEqual([]);
    const owners = await query<{ owner: string }>(
      adminUrl,
      "select distinct tableowner as owner from pg_tables where schemaname = 'card_auth'",
    );
    expect(owners).toEqual([{ owner: 'card_auth_owner' }]);
  });

  test('roles that another administrator created are named', async () => {
    await provision({ adminUrl, places, dedicatedServer: false });
    await query(adminUrl, "create role dba login createrole password 'dba'");
    await query(adminUrl, 'create database second owner dba');
    const second = withDatabase(urlAs(adminUrl, 'dba', 'dba'), 'second');
    await expect(provision({ adminUrl: second, places, dedicatedServer: false })).rejects.toThrow(
      /GRANT card_auth_app, card_auth_owner, .* TO dba WITH ADMIN OPTION/,
    );
  });

  test('two migrators at once: one does the work, the other finds it done', async () => {
    await provision({ adminUrl, places, dedicatedServer: true });
    const migrations = loadMigrations(join(projectRoot, 'migrations'), load);
    const options = { adminUrl, datasources, migrations };
    const [first, second] = await Promise.all([migrateLanes(options), migrateLanes(options)]);
    const counts = [first, second].map((lanes) => lanes.flatMap(({ executed }) => executed).length);
    expect(Math.min(...counts)).toBe(0);
    expect(Math.max(...counts)).toBe(Object.values(migrations).flat().length);
  });

  test('demo data is loaded once, even by two at once, and leaves nothing where loading fails', async () => {
    await provision({ adminUrl, places, dedicatedServer: true });
    await migrateLanes({
      adminUrl,
      datasources,
      migrations: loadMigrations(join(projectRoot, 'migrations'), load),
    });
    const failing = demoData.map((demo) => ({
      ...demo,
      load: async (...args: Parameters<typeof demo.load>): Promise<void> => {
        await demo.load(...args);
        throw new Error('the machine went away');
      },
    }));
    await expect(loadDemoData({ adminUrl, datasources, demos: failing })).rejects.toThrow('the machine went away');
    expect(await query(adminUrl, 'select count(*)::int as count from card_auth.cards')).toEqual([{ count: 0 }]);

    const loaded = await Promise.all([1, 2].map(() => loadDemoData({ adminUrl, datasources, demos: demoData })));
    expect(loaded.flat().sort()).toEqual(demoData.map(({ lane }) => lane).sort());
    expect(await query(adminUrl, 'select count(*)::int as count from card_auth.cards')).toEqual([{ count: 1007 }]);
    expect(await loadDemoData({ adminUrl, datasources, demos: demoData })).toEqual([]);
  });
});
