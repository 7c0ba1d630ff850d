import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { escapeIdentifier } from 'pg';
import { DataSource, type MigrationInterface } from 'typeorm';
import { type MigrationClass, migrationDataSource } from '../../config/data-sources';
import { type DatasourceSpecification, type Lane, LANES } from '../../config/lanes';
import { withSetupLock } from './postgres-client';

/** Each lane has a history of its own. */
export type LaneMigrations = Readonly<Record<Lane, readonly MigrationClass[]>>;

export interface MigrateOptions {
  /** A login that may act as the owner roles, the payment database in its path. */
  adminUrl: string;
  datasources: Readonly<Record<Lane, DatasourceSpecification>>;
  migrations: LaneMigrations;
}

export interface MigratedLane {
  lane: Lane;
  /** The names of what ran now, oldest first. */
  executed: string[];
}

/**
 * Brings every lane's schema up to date as the lane's owner role; each migration in a transaction of its own. A second
 * migrator waits until the first has ended, and then finds nothing to do.
 */
export async function migrateLanes(options: MigrateOptions): Promise<MigratedLane[]> {
  return withSetupLock(options.adminUrl, async () => {
    const migrated: MigratedLane[] = [];
    for (const lane of LANES) {
      if (options.migrations[lane].length > 0) migrated.push({ lane, executed: await migrateLane(lane, options) });
    }
    return migrated;
  });
}

async function migrateLane(lane: Lane, options: MigrateOptions): Promise<string[]> {
  const source = new DataSource(
    migrationDataSource(options.datasources[lane], options.adminUrl, [...options.migrations[lane]]),
  );
  await source.initialize();
  try {
    const executed = await source.runMigrations({ transaction: 'each' });
    // A starting server compares the history with the migrations that it was built with.
    await source.query(`grant select on migrations to ${escapeIdentifier(options.datasources[lane].role)}`);
    return executed.map(({ name }) => name);
  } finally {
    await source.destroy();
  }
}

const MIGRATION_FILE = /^\d{13}-.+(?<!\.d|\.spec)\.(?:ts|js)$/;

/**
 * The migration classes under `<folder>/<lane>/`; a lane without a folder has none.
 *
 * @param load imports one file: `require` of whoever calls, since the compiled scripts and the tests differ in that.
 */
export function loadMigrations(folder: string, load: (file: string) => unknown): LaneMigrations {
  const ofLane = (lane: Lane): MigrationClass[] => {
    const laneFolder = join(folder, lane);
    if (!existsSync(laneFolder)) return [];
    return readdirSync(laneFolder)
      .filter((name) => MIGRATION_FILE.test(name))
      .sort()
      .flatMap((name) => Object.values(load(join(laneFolder, name)) as Record<string, unknown>).filter(isMigration));
  };
  return Object.fromEntries(LANES.map((lane) => [lane, ofLane(lane)])) as unknown as LaneMigrations;
}

function isMigration(value: unknown): value is MigrationClass {
  if (typeof value !== 'function') return false;
  const prototype = value.prototype as Partial<MigrationInterface> | undefined;
  return typeof prototype?.up === 'function' && typeof prototype.down === 'function';
}
