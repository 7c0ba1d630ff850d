import { join } from 'node:path';
import type { Settings } from '../../config/environment';
import type { Lane } from '../../config/lanes';
import { demoData } from './demo';
import { loadDemoData } from './demo/load-demo';
import { datasourcesOf, placesOf } from './lane-places';
import { loadMigrations, migrateLanes } from './migrate-lanes';
import { sqlState } from './postgres-client';
import { provision } from './provision';
import { say, step } from './report';
import { messageOf, SetupError } from './setup-error';

/** Compiled beside the compiled scripts. */
const MIGRATIONS_FOLDER = join(__dirname, '..', '..', 'migrations');

export const PAYMENT_DATABASE = 'payment_core';

export interface DatabaseSetup {
  /** An administrator's login, the payment database in its path. */
  adminUrl: string;
  /** What the lanes' passwords are derived from; the administrator's URL itself in most cases. */
  serverUrl: string;
  laneUrls: Readonly<Partial<Record<Lane, string>>>;
  /** False where roles and schemas are somebody else's business. */
  provision: boolean;
  dedicatedServer: boolean;
  demoData: boolean;
}

/** Roles, schemas, migrations and demo data, each only where it is not there yet. */
export async function setUpDatabase(setup: DatabaseSetup, settings: Settings): Promise<void> {
  const { adminUrl, dedicatedServer } = setup;
  const datasources = datasourcesOf(settings);
  try {
    if (setup.provision) {
      const places = placesOf(settings, setup.serverUrl, setup.laneUrls);
      await step('setting roles and schemas up', () => provision({ adminUrl, places, dedicatedServer }));
    }
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- the files are known at run time only
    const migrations = loadMigrations(MIGRATIONS_FOLDER, (file): unknown => require(file));
    const migrated = await step('migrating', () => migrateLanes({ adminUrl, datasources, migrations }));
    for (const { lane, executed } of migrated) {
      if (executed.length > 0) say(`migrated ${lane}: ${executed.join(', ')}`);
    }
    if (!setup.demoData) return;
    const loaded = await step('loading demo data', () => loadDemoData({ adminUrl, datasources, demos: demoData }));
    if (loaded.length > 0) say(`loaded the demo data of ${loaded.join(', ')}`);
  } catch (error) {
    throw explained(error, adminUrl);
  }
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT', 'EAI_AGAIN', 'ECONNRESET'];
/** Class 28: the server knows the login no better than its password. */
const REFUSED_LOGINS = ['28P01', '28000'];

function explained(error: unknown, adminUrl: string): unknown {
  const { host, username } = new URL(adminUrl);
  const state = sqlState(error) ?? '';
  if (UNREACHABLE.includes(state) || /timeout expired/.test(messageOf(error))) {
    return new SetupError(`No database answers on ${host}: ${messageOf(error) || state}`, { cause: error });
  }
  if (REFUSED_LOGINS.includes(state)) {
    return new SetupError(`The database on ${host} refuses the login '${decodeURIComponent(username)}'`, {
      cause: error,
    });
  }
  return error;
}
