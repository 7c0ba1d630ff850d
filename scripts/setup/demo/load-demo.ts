import { type ClientBase, escapeIdentifier } from 'pg';
import type { DatasourceSpecification, Lane } from '../../../config/lanes';
import { withClient } from '../postgres-client';
import type { DemoData } from './demo-data';

export interface LoadDemoOptions {
  adminUrl: string;
  datasources: Readonly<Record<Lane, DatasourceSpecification>>;
  demos: readonly DemoData[];
}

/** Loads what is not there yet, so that a lane which came later finds its way into an existing folder. */
export async function loadDemoData(options: LoadDemoOptions): Promise<Lane[]> {
  const loaded: Lane[] = [];
  for (const demo of options.demos) {
    if (await loadOnce(demo, options.datasources[demo.lane], options.adminUrl)) loaded.push(demo.lane);
  }
  return loaded;
}

/** The marker row and the data commit together: neither is ever there without the other. */
async function loadOnce(demo: DemoData, datasource: DatasourceSpecification, adminUrl: string): Promise<boolean> {
  const marker = `${escapeIdentifier(datasource.schema)}.demo_data`;
  return withClient(
    adminUrl,
    async (client) => {
      await client.query('begin');
      try {
        const due = await claim(client, marker, demo.version);
        if (due) await demo.load(client);
        await client.query('commit');
        return due;
      } catch (error) {
        await client.query('rollback');
        throw error;
      }
    },
    { options: `-c role=${datasource.ownerRole} -c search_path=${datasource.schema}` },
  );
}

async function claim(client: ClientBase, marker: string, version: number): Promise<boolean> {
  // Before the table exists two loaders could both create it.
  await client.query("select pg_advisory_xact_lock(hashtextextended('payment-core:demo', 0))");
  await client.query(
    `create table if not exists ${marker} (version integer primary key, loaded_at timestamptz not null default now())`,
  );
  const { rowCount } = await client.query(
    `insert into ${marker} (version) select $1::integer where not exists (select from ${marker} where version >= $1::integer)`,
    [version],
  );
  return rowCount === 1;
}
