import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type ClientBase, escapeIdentifier } from 'pg';
import { laneUrlFromServerUrl } from '../../config/data-sources';
import { type DatasourceSpecification, type Lane, LANES, laneTable } from '../../config/lanes';
import { demoData } from '../../scripts/setup/demo';
import { loadDemoData } from '../../scripts/setup/demo/load-demo';
import { lanePlaces } from '../../scripts/setup/lane-place';
import { loadMigrations, migrateLanes } from '../../scripts/setup/migrate-lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import { projectRoot } from '../../scripts/setup/project';
import { allowConnect, closeDatabase, provision } from '../../scripts/setup/provision';
import { atEndOfFile } from './closers';
import { type TestPostgres, testPostgres } from './services';

export interface TestDatabase {
  name: string;
  postgres: TestPostgres;
  /** The superuser's URL of this database. */
  adminUrl: string;
  /** The running lane's own login. */
  laneUrl(lane: Lane): string;
  /** `DATABASE_URL_<LANE>` for all lanes, as a server takes them. */
  environment: Readonly<Record<string, string>>;
  /** A connection that acts as the lane's owner role with the lane's schema in front; closed at the end of the file. */
  ownerClient(lane: Lane): Promise<Client>;
  /** Ends all its connections and removes it. Otherwise the worker's next test file does, when this one's hooks have run. */
  drop(): Promise<void>;
}

const datasources = Object.fromEntries(LANES.map((lane) => [lane, laneTable[lane].datasource])) as Record<
  Lane,
  DatasourceSpecification
>;

/**
 * A fresh database with all schemas, roles, migrations and demo data, copied from a template that each worker builds
 * once (the copy takes some tens of milliseconds).
 *
 * @param given a cluster of the test file's own; the worker's if left out.
 */
export async function createTestDatabase(given?: TestPostgres): Promise<TestDatabase> {
  const postgres = given ?? (await testPostgres());
  const template = await ensureTemplate(postgres);
  await (earlierFilesCleared ??= clearEarlierFiles(postgres));
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await withClient(postgres.adminUrl(), (client) =>
    client.query(`create database ${escapeIdentifier(name)} template ${escapeIdentifier(template)}`),
  );
  await withClient(postgres.adminUrl(name), async (client) => {
    await closeDatabase(client, name);
    for (const lane of LANES) await allowConnect(client, datasources[lane].role, name);
  });
  return describeDatabase(postgres, name);
}

let earlierFilesCleared: Promise<void> | null = null;

/** What earlier test files of this worker left; connections they forgot would count against the lanes' limits. */
async function clearEarlierFiles(postgres: TestPostgres): Promise<void> {
  await withClient(postgres.adminUrl(), async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select datname as name from pg_database where datname ~ '^test_[0-9a-f]{32}$'`,
    );
    for (const { name } of rows) await client.query(`drop database ${escapeIdentifier(name)} with (force)`);
  });
}

function describeDatabase(postgres: TestPostgres, name: string): TestDatabase {
  const adminUrl = postgres.adminUrl(name);
  const laneUrl = (lane: Lane): string => laneUrlFromServerUrl(adminUrl, datasources[lane].role);
  let dropped = false;
  const drop = async (): Promise<void> => {
    if (dropped) return;
    dropped = true;
    await withClient(postgres.adminUrl(), (client) =>
      client.query(`drop database if exists ${escapeIdentifier(name)} with (force)`),
    );
  };
  return {
    name,
    postgres,
    adminUrl,
    laneUrl,
    environment: Object.fromEntries(LANES.map((lane) => [`DATABASE_URL_${lane.toUpperCase()}`, laneUrl(lane)])),
    ownerClient: (lane) => openOwnerClient(adminUrl, datasources[lane]),
    drop,
  };
}

async function openOwnerClient(adminUrl: string, datasource: DatasourceSpecification): Promise<Client> {
  const client = new Client({
    connectionString: adminUrl,
    application_name: 'test-owner',
    options: `-c role=${datasource.ownerRole} -c search_path=${datasource.schema}`,
  });
  client.on('error', () => undefined);
  await client.connect();
  atEndOfFile(() => client.end());
  return client;
}

const templates = new Map<TestPostgres, Promise<string>>();

function ensureTemplate(postgres: TestPostgres): Promise<string> {
  const known = templates.get(postgres) ?? buildTemplate(postgres);
  templates.set(postgres, known);
  return known;
}

/** The template's name holds the sources' hash: Jest in watch mode keeps its cluster while migrations change. */
async function buildTemplate(postgres: TestPostgres): Promise<string> {
  const template = `template_${sourcesHash()}`;
  const unfinished = `${template}_unfinished`;
  const exists = await withClient(postgres.adminUrl(), async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template]);
    if (rowCount === 0) await client.query(`drop database if exists ${unfinished} with (force)`);
    return rowCount === 1;
  });
  if (exists) return template;
  const adminUrl = postgres.adminUrl(unfinished);
  await provision({
    adminUrl,
    places: lanePlaces({
      datasources,
      processes: 1,
      passwordOf: (_lane, role) => decodeURIComponent(new URL(laneUrlFromServerUrl(adminUrl, role)).password),
    }),
    dedicatedServer: true,
  });
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- Jest's: it compiles the sources on the way
  const load = (file: string): unknown => require(file);
  const migrations = loadMigrations(join(projectRoot, 'migrations'), load);
  await migrateLanes({ adminUrl, datasources, migrations });
  await loadDemoData({ adminUrl, datasources, demos: demoData });
  await withClient(postgres.adminUrl(), (client: ClientBase) =>
    client.query(`alter database ${unfinished} rename to ${template}`),
  );
  return template;
}

function sourcesHash(): string {
  const hash = createHash('sha256');
  for (const folder of ['migrations', 'scripts/setup', 'config']) {
    const entries = readdirSync(join(projectRoot, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((found) => found.isFile())) {
      hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
    }
  }
  return hash.digest('hex').slice(0, 12);
}
