import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { canReach, giveTo, makeOpenFolder, serviceUser, type ServiceUser } from './os/service-user';
import { projectHash } from './project';
import { SetupError } from './setup-error';

/** Where binaries and data go when the services' user cannot reach the project, as below root's home. */
export const sharedFolder = `/var/lib/payment-core-${projectHash}`;

export interface ServiceFolder {
  /** Whom the services run as; null for the user of this process. */
  user: ServiceUser | null;
  folder: string;
  postgresData: string;
  redisData: string;
  logs: string;
  /** True where the services could not be put below the data folder. */
  elsewhere: boolean;
}

/** The folders of PostgreSQL and Redis, made and handed to the services' user. */
export function ensureServiceFolder(dataFolder: string): ServiceFolder {
  makeOpenFolder(dataFolder);
  const user = userOf(dataFolder);
  const aside = folderAside(dataFolder);
  // Once data is there it stays there, even if the project has become reachable meanwhile.
  const elsewhere = !canReach(user, dataFolder) || (existsSync(aside) && !existsSync(join(dataFolder, 'postgres')));
  const folder = elsewhere ? aside : dataFolder;
  const logs = join(folder, 'logs');
  if (elsewhere) makeOpenFolder(sharedFolder);
  makeOpenFolder(folder);
  makeOpenFolder(logs);
  giveTo(user, logs);
  return { user, folder, postgresData: join(folder, 'postgres'), redisData: join(folder, 'redis'), logs, elsewhere };
}

/**
 * Files that are there already decide: root takes over what an ordinary user began, as that user. The other way round
 * there is nothing to be done.
 */
export function userOf(dataFolder: string): ServiceUser | null {
  const own = serviceUser();
  for (const path of serviceFolderCandidates(dataFolder).flatMap((each) => [each.postgresData, each.redisData])) {
    const owner = statSync(path, { throwIfNoEntry: false });
    if (owner === undefined) continue;
    if (own === null && owner.uid !== process.getuid?.()) {
      throw new SetupError(
        `${path} belongs to another user (uid ${owner.uid}): run this as that user or as root. ` +
          "Root's 'npm run reset' clears it, PAYMENT_DATA_DIR names another folder.",
      );
    }
    if (own !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  return own;
}

/** Removes a data folder's services' files, wherever they are; the caller has made sure that nothing runs on them. */
export function removeServiceFolders(dataFolder: string): void {
  for (const name of ['postgres', 'postgres.init', 'redis', 'logs']) {
    rmSync(join(dataFolder, name), { recursive: true, force: true });
  }
  rmSync(folderAside(dataFolder), { recursive: true, force: true });
  // The binaries' copy serves all data folders of this project.
  if (!existsSync(sharedFolder) || readdirSync(sharedFolder).some((name) => name.startsWith('data-'))) return;
  rmSync(sharedFolder, { recursive: true, force: true });
}

/** The places where a data folder's PostgreSQL and Redis may be. */
export function serviceFolderCandidates(dataFolder: string): { postgresData: string; redisData: string }[] {
  return [dataFolder, folderAside(dataFolder)].map((folder) => ({
    postgresData: join(folder, 'postgres'),
    redisData: join(folder, 'redis'),
  }));
}

function folderAside(dataFolder: string): string {
  return join(sharedFolder, `data-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 8)}`);
}
