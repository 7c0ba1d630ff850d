import { Pool, type PoolClient } from 'pg';
import type { LaneSettings } from '../../config/environment';
import { lanePoolConfig } from '../../src/platform/database/lane-data-source';
import type { LaneStore, Statement } from '../../src/platform/database/statement';

/** A plain pg pool of the lane's size and session settings, all connections open, behind the interface of the lane's SQL. */
export async function openPlainStore(lane: LaneSettings): Promise<{ store: LaneStore; close: () => Promise<void> }> {
  const { datasource, databaseUrl, bulkhead } = lane;
  if (databaseUrl === null) throw new Error('The lane has no database');
  const { name, schema, connections } = datasource;
  const { executionMsMax } = bulkhead;
  const pool = new Pool(lanePoolConfig({ datasource: name, url: databaseUrl, schema, connections, executionMsMax }));
  pool.on('error', (error) => console.error('a connection was lost', error));
  const clients = await Promise.all(Array.from({ length: connections }, () => pool.connect()));
  for (const client of clients) client.release();
  const query = async <Row extends object>(
    runner: Pool | PoolClient,
    { name: statementName, text }: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> => (await runner.query({ name: statementName, text, values: [...values] })).rows as Row[];
  return {
    store: {
      query: (statement, values) => query(pool, statement, values),
      transaction: (work) => transaction(pool, (client) => work({ query: (s, v) => query(client, s, v) })),
    },
    close: () => pool.end(),
  };
}

async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
