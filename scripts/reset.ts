import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive } from './setup/os/processes';
import { livingLauncher, readRunState } from './setup/launcher/run-state';
import { say } from './setup/report';
import { readScriptEnvironment } from './setup/script-environment';
import { removeServiceFolders, serviceFolderCandidates, sharedFolder, userOf } from './setup/service-folder';
import { runningPostmaster, stopPostgres } from './setup/services/embedded-postgres';
import { stopRedis } from './setup/services/embedded-redis';
import { postgresBinaries } from './setup/services/postgres-binaries';
import { describeFault } from './setup/setup-error';

/** Deletes databases, jobs, keys and passwords of the embedded mode; refuses while anybody uses them. */
async function reset(): Promise<number> {
  const { dataFolder } = readScriptEnvironment();
  const launcher = livingLauncher(dataFolder);
  const application = readRunState(dataFolder)?.application ?? null;
  const living = launcher ?? (application !== null && isAlive(application) ? identityOf(application.pid) : null);
  if (living !== null) {
    say(`payment-core runs on ${dataFolder} (process ${living.pid}). Stop it first: 'kill ${living.pid}'`);
    return 1;
  }
  const user = userOf(dataFolder);
  for (const { postgresData, redisData } of serviceFolderCandidates(dataFolder)) {
    await stopRedis(redisData);
    if (runningPostmaster(postgresData) === null) continue;
    await stopPostgres({ dataFolder: postgresData, binaries: postgresBinaries(user, sharedFolder), user });
  }
  removeServiceFolders(dataFolder);
  for (const name of ['secrets.json', 'jwks.json', 'run.json', 'launcher.lock']) {
    rmSync(join(dataFolder, name), { force: true });
  }
  say(`cleared ${dataFolder}: the next start begins anew, with new keys and passwords`);
  return 0;
}

void reset()
  .catch((error: unknown) => {
    say(describeFault(error));
    return 1;
  })
  .then((code) => process.exit(code));
