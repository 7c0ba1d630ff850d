import { join } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { migrationDataSource } from './config/data-sources';
import { type Lane, LANES, laneTable } from './config/lanes';
import { embeddedAdminUrl } from './scripts/setup/embedded-admin-url';
import { readScriptEnvironment } from './scripts/setup/script-environment';
import { SetupError } from './scripts/setup/setup-error';

/**
 * For the TypeORM command line, which takes one data source at a time; after a build:
 * `PAYMENT_LANE=authorization sh scripts/node24 node_modules/typeorm/cli.js migration:show -d dist/ormconfig.js`
 */
const environment = readScriptEnvironment();

/** How each lane is migrated: with an administrator's login that acts as the lane's owner role. */
export const laneDataSourceOptions: Readonly<Record<Lane, DataSourceOptions>> = optionsForAllLanes(adminUrl());

export default new DataSource(laneDataSourceOptions[chosenLane()]);

function adminUrl(): string {
  const { migrationDatabaseUrl, databaseUrl, dataFolder } = environment;
  const url = migrationDatabaseUrl ?? databaseUrl ?? embeddedAdminUrl(dataFolder);
  if (url !== null) return url;
  throw new SetupError("No database: set MIGRATION_DATABASE_URL, or let the embedded one run ('npm start')");
}

function optionsForAllLanes(url: string): Record<Lane, DataSourceOptions> {
  const optionsOf = (lane: Lane): DataSourceOptions =>
    migrationDataSource(laneTable[lane].datasource, url, [join(__dirname, 'migrations', lane, '*.js')]);
  return {
    authorization: optionsOf('authorization'),
    fraud: optionsOf('fraud'),
    tax: optionsOf('tax'),
    ledger: optionsOf('ledger'),
  };
}

function chosenLane(): Lane {
  const lane = LANES.find((name) => name === environment.typeormLane);
  if (lane !== undefined) return lane;
  const given = environment.typeormLane === null ? 'is not set' : `= ${environment.typeormLane} is no lane`;
  throw new SetupError(`PAYMENT_LANE ${given}: one of ${LANES.join(', ')}`);
}
