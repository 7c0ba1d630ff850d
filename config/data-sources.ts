import { createHmac } from 'node:crypto';
import type { DataSourceOptions, MigrationInterface } from 'typeorm';
import type { DatasourceSpecification } from './lanes';

type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;
export type MigrationClass = new () => MigrationInterface;

/**
 * A lane's own login on a server that is given once for all lanes: same host and database, the lane's role,
 * and a password derived from the server's, so that provisioning and every process arrive at the same one.
 */
export function laneUrlFromServerUrl(serverUrl: string, role: string): string {
  const url = new URL(serverUrl);
  const password = createHmac('sha256', decodeURIComponent(url.password)).update(`payment-core:${role}`);
  url.username = role;
  url.password = password.digest('base64url');
  return url.toString();
}

/** Where TypeORM notes which migrations a lane has had; in the lane's own schema, so that histories never mix. */
const MIGRATIONS_TABLE = 'migrations';

/**
 * What TypeORM needs to migrate one lane: it logs in as an administrator and acts as the lane's owner role from the
 * first statement on, so that the owner owns the tables and needs no login of its own.
 *
 * @param migrations classes, or a glob of compiled files.
 */
export function migrationDataSource(
  datasource: Pick<DatasourceSpecification, 'schema' | 'ownerRole'>,
  adminUrl: string,
  migrations: (MigrationClass | string)[],
): PostgresDataSourceOptions {
  return {
    type: 'postgres',
    url: adminUrl,
    schema: datasource.schema,
    entities: [],
    migrations,
    migrationsTableName: MIGRATIONS_TABLE,
    synchronize: false,
    applicationName: 'payment-core-migrate',
    poolSize: 2,
    extra: { options: `-c role=${datasource.ownerRole} -c search_path=${datasource.schema}` },
  };
}
