import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from '../os/processes';
import { makeOpenFolder } from '../os/service-user';
import { deniedPath, notAllowed, SetupError } from '../setup-error';

/** What a launcher notes for the next one, which may find that this one was killed. */
export interface RunState {
  launcher: ProcessIdentity;
  application: ProcessIdentity | null;
  url: string | null;
  /** Kept over restarts, so that whoever noted a port finds the service there again. */
  postgresPort: number | null;
  redisPort: number | null;
}

export function readRunState(dataFolder: string): RunState | null {
  try {
    return JSON.parse(readFileSync(join(dataFolder, 'run.json'), 'utf8')) as RunState;
  } catch {
    return null;
  }
}

/** Renamed into place: a reader sees the old state or the new one, never half of one. */
export function writeRunState(dataFolder: string, state: RunState): void {
  const file = join(dataFolder, 'run.json');
  writeFileSync(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** The launcher that works on this data folder; null where none does. */
export function livingLauncher(dataFolder: string): ProcessIdentity | null {
  const holder = readHolder(lockFile(dataFolder));
  return holder !== null && isAlive(holder) ? holder : null;
}

/**
 * Makes this process the folder's one launcher.
 *
 * @returns what gives the folder free again.
 * @throws SetupError where another launcher lives, or the folder is another user's.
 */
export function becomeLauncher(dataFolder: string): () => void {
  const lock = lockFile(dataFolder);
  const mine = `${lock}.${process.pid}`;
  claim(dataFolder, mine);
  try {
    for (let attempt = 1; !link(mine, lock); attempt += 1) {
      const holder = livingLauncher(dataFolder);
      if (holder !== null || attempt > 10) throw new SetupError(alreadyRuns(dataFolder, holder));
      breakDeadLock(lock, `${mine}.dead`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return () => {
    if (readHolder(lock)?.pid === process.pid) rmSync(lock, { force: true });
  };
}

/** The first file that a start writes: whoever may not write here is told so before anything else happens. */
function claim(dataFolder: string, file: string): void {
  try {
    makeOpenFolder(dataFolder);
    writeFileSync(file, JSON.stringify(identityOf(process.pid)));
  } catch (error) {
    throw deniedPath(error) === null ? error : new SetupError(notAllowed(dataFolder), { cause: error });
  }
}

function alreadyRuns(dataFolder: string, holder: ProcessIdentity | null): string {
  const url = readRunState(dataFolder)?.url ?? null;
  const pid = holder?.pid ?? 'unknown';
  return (
    `payment-core already runs on ${dataFolder}: process ${pid}${url === null ? '' : `, ${url}`}.\n` +
    `Stop it with Ctrl-C in its terminal or 'kill ${pid}'; a second one beside it needs PAYMENT_DATA_DIR and PORT of its own.`
  );
}

function lockFile(dataFolder: string): string {
  return join(dataFolder, 'launcher.lock');
}

function readHolder(lock: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as ProcessIdentity;
  } catch {
    return null;
  }
}

/** A link appears together with its content, which a file that is created and then written does not. */
function link(mine: string, lock: string): boolean {
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Two may find the same dead lock; if a living one's was moved by then, it is put back. */
function breakDeadLock(lock: string, aside: string): void {
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  const holder = readHolder(aside);
  if (holder !== null && isAlive(holder)) link(aside, lock);
  rmSync(aside, { force: true });
}
