import { existsSync } from 'node:fs';
import type { Settings } from '../config/environment';
import { embeddedAdminUrl } from './setup/embedded-admin-url';
import { EmbeddedServiceGroup } from './setup/launcher/embedded-services';
import { applicationSettings } from './setup/launcher/preflight';
import { becomeLauncher, readRunState } from './setup/launcher/run-state';
import { connectionsMaxOf } from './setup/lane-places';
import { withDatabase } from './setup/postgres-client';
import { say } from './setup/report';
import { readScriptEnvironment, type ScriptEnvironment } from './setup/script-environment';
import { existingSecrets } from './setup/secrets';
import { serviceFolderCandidates } from './setup/service-folder';
import { type DatabaseSetup, PAYMENT_DATABASE, setUpDatabase } from './setup/setup-database';
import { describeFault, SetupError } from './setup/setup-error';

/** Sets roles and schemas up and migrates: the given server, or the embedded cluster, running or not. */
async function migrate(): Promise<void> {
  const environment = readScriptEnvironment();
  const settings = applicationSettings(environment);
  const { databaseUrl, migrationDatabaseUrl, laneDatabaseUrls: laneUrls } = environment;
  const setUp = (adminUrl: string, rest: Partial<DatabaseSetup> = {}): Promise<void> =>
    setUpDatabase(
      {
        adminUrl,
        serverUrl: databaseUrl ?? adminUrl,
        laneUrls,
        provision: true,
        dedicatedServer: false,
        demoData: environment.demoData,
        ...rest,
      },
      settings,
    );
  const given = migrationDatabaseUrl ?? databaseUrl;
  if (given !== null) {
    await setUp(given, { demoData: environment.demoData && !environment.postgresEmbedded });
  } else if (!environment.postgresEmbedded) {
    throw new SetupError('Only the lanes’ own logins are given, which own no tables: set MIGRATION_DATABASE_URL');
  } else {
    const embedded = (adminUrl: string): Promise<void> => setUp(adminUrl, { dedicatedServer: true });
    const running = embeddedAdminUrl(environment.dataFolder);
    if (running !== null) await embedded(running);
    else await withEmbeddedCluster(environment, settings, embedded);
  }
  say('every lane is up to date');
}

async function withEmbeddedCluster(
  environment: ScriptEnvironment,
  settings: Settings,
  work: (adminUrl: string) => Promise<void>,
): Promise<void> {
  const { dataFolder } = environment;
  const secrets = existingSecrets(dataFolder);
  if (secrets === null || !serviceFolderCandidates(dataFolder).some(({ postgresData }) => existsSync(postgresData))) {
    throw new SetupError(
      "There is no database yet: 'npm start' makes an embedded one, MIGRATION_DATABASE_URL names another",
    );
  }
  // Nobody may start on the folder, or stop its cluster, meanwhile.
  const release = becomeLauncher(dataFolder);
  try {
    const services = EmbeddedServiceGroup.prepare({
      environment: { ...environment, redisEmbedded: false },
      secrets,
      connectionsMax: connectionsMaxOf(settings),
      previous: readRunState(dataFolder),
    });
    try {
      const running = await services?.start(null);
      if (running?.postgres) await work(withDatabase(running.postgres.serverUrl, PAYMENT_DATABASE));
    } finally {
      await services?.stop();
    }
  } finally {
    release();
  }
}

migrate().catch((error: unknown) => {
  say(describeFault(error));
  process.exitCode = 1;
});
