import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, portState } from '../os/ports';
import { identityOf, type ProcessIdentity, processNumbers, waitForExit, workingFolderOf } from '../os/processes';
import { runCommand } from '../os/run-command';
import { giveTo, type ServiceUser } from '../os/service-user';
import { SetupError } from '../setup-error';
import { postgresSettings } from './postgres-settings';

const MAJOR_VERSION = '18';
const SETTINGS_FILE = 'payment-core.conf';
const ORPHANS_END_MS_MAX = 10_000;
export const POSTGRES_ADMIN = 'postgres';

export interface EmbeddedPostgresOptions {
  /** Created by the first start; belongs to `user`. */
  dataFolder: string;
  logFile: string;
  /** PostgreSQL's bin, lib and share. */
  binaries: string;
  user: ServiceUser | null;
  adminPassword: string;
  connectionsMax: number;
  /** The port of the last start; another is taken where it is not free. */
  portPreferred: number | null;
  /** False in test clusters only. */
  durable: boolean;
}

export interface RunningPostgres {
  port: number;
  postmaster: ProcessIdentity;
  /** The administrator's URL without a database: append its name. */
  serverUrl: string;
  /** True where it had been left running and was taken over. */
  adopted: boolean;
}

/** Starts the cluster, creating it first where there is none, or takes over the one that a killed launcher left. */
export async function startPostgres(options: EmbeddedPostgresOptions): Promise<RunningPostgres> {
  if (!existsSync(options.dataFolder)) await initialise(options);
  refuseOtherVersion(options.dataFolder);
  const left = runningPostmaster(options.dataFolder);
  if (left !== null) {
    const settings = settingsFor(options, left.port);
    if (readFileSync(join(options.dataFolder, SETTINGS_FILE), 'utf8') === settings) {
      return running(options, left.port, left.postmaster, true);
    }
    await stopPostgres(options);
  }
  await clearStaleLock(options.dataFolder);
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(attempt === 1 ? options.portPreferred : null);
    const fault = await startOn(options, port);
    const started = runningPostmaster(options.dataFolder);
    if (fault === null && started !== null) return running(options, port, started.postmaster, false);
    // Between the look and the start somebody else may have taken the port; anything else will not mend itself.
    if (attempt < 3 && (await portState('127.0.0.1', port)) === 'taken') continue;
    throw new SetupError(`PostgreSQL did not start. The end of ${options.logFile}:\n${fault ?? 'it ended at once'}`);
  }
}

/** Stops the cluster without waiting for its clients, with everything committed on disk. */
export async function stopPostgres(
  options: Pick<EmbeddedPostgresOptions, 'dataFolder' | 'binaries' | 'user'>,
): Promise<void> {
  const found = runningPostmaster(options.dataFolder);
  if (found === null) return;
  const result = await runCommand(
    join(options.binaries, 'bin', 'pg_ctl'),
    ['stop', '-D', options.dataFolder, '-m', 'fast', '-w', '-t', '60', '-s'],
    { user: options.user, limitMs: 65_000 },
  );
  if (await waitForExit(found.postmaster, 2_000)) return;
  throw new SetupError(`PostgreSQL (process ${found.postmaster.pid}) did not stop: ${result.output}`);
}

/** The server that runs on this data folder, whoever started it. */
export function runningPostmaster(dataFolder: string): { port: number; postmaster: ProcessIdentity } | null {
  let lines: string[];
  try {
    lines = readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  const postmaster = identityOf(Number(lines[0]));
  // The number may have gone to another process since: a postmaster works inside its data folder.
  if (postmaster === null || workingFolderOf(postmaster.pid) !== realpathSync(dataFolder)) return null;
  return { port: Number(lines[3]), postmaster };
}

/**
 * PostgreSQL takes any process with the number in its lock file for a living postmaster: a zombie that nobody has
 * collected, or after a reboot somebody else. What counts is whether any process still works in the data folder.
 */
async function clearStaleLock(dataFolder: string): Promise<void> {
  const lock = join(dataFolder, 'postmaster.pid');
  const folder = realpathSync(dataFolder);
  const deadline = performance.now() + ORPHANS_END_MS_MAX;
  while (existsSync(lock)) {
    // Backends of a killed postmaster notice its death and end by themselves.
    const orphans = processNumbers().filter((pid) => workingFolderOf(pid) === folder && identityOf(pid) !== null);
    if (orphans.length === 0) rmSync(lock, { force: true });
    else if (performance.now() > deadline) {
      throw new SetupError(
        `PostgreSQL's postmaster is gone, but its processes ${orphans.join(', ')} still run: end them`,
      );
    } else await sleep(50);
  }
}

function running(
  options: EmbeddedPostgresOptions,
  port: number,
  postmaster: ProcessIdentity,
  adopted: boolean,
): RunningPostgres {
  const password = encodeURIComponent(options.adminPassword);
  return { port, postmaster, adopted, serverUrl: `postgres://${POSTGRES_ADMIN}:${password}@127.0.0.1:${port}/` };
}

async function choosePort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await portState('127.0.0.1', preferred)) === 'free') return preferred;
  return freePort();
}

function settingsFor(options: EmbeddedPostgresOptions, port: number): string {
  return postgresSettings({ port, connectionsMax: options.connectionsMax, durable: options.durable });
}

/** @returns null when it serves, else the end of its log. */
async function startOn(options: EmbeddedPostgresOptions, port: number): Promise<string | null> {
  const settingsFile = join(options.dataFolder, SETTINGS_FILE);
  writeFileSync(settingsFile, settingsFor(options, port), { mode: 0o600 });
  giveTo(options.user, settingsFile);
  const result = await runCommand(
    join(options.binaries, 'bin', 'pg_ctl'),
    // Recovery after a crash may have a whole max_wal_size to go through.
    ['start', '-D', options.dataFolder, '-l', options.logFile, '-w', '-t', '300', '-s'],
    { user: options.user, limitMs: 310_000, output: 'ignore' },
  );
  if (result.code === 0) return null;
  return existsSync(options.logFile)
    ? readFileSync(options.logFile, 'utf8').trimEnd().split('\n').slice(-8).join('\n')
    : '';
}

/** Builds the cluster beside its place and renames it into place, so that a start cut short leaves no half of one. */
async function initialise(options: EmbeddedPostgresOptions): Promise<void> {
  const unfinished = `${options.dataFolder}.init`;
  const passwordFile = `${options.dataFolder}.password`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  giveTo(options.user, unfinished);
  writeFileSync(passwordFile, options.adminPassword, { mode: 0o600 });
  giveTo(options.user, passwordFile);
  try {
    const result = await runCommand(
      join(options.binaries, 'bin', 'initdb'),
      [
        ...['--pgdata', unfinished, '--username', POSTGRES_ADMIN, '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
        // The built-in provider sorts by code point whatever C library the machine has, today and after an upgrade.
        ...[
          '--encoding=UTF8',
          '--locale=C.UTF-8',
          '--locale-provider=builtin',
          '--data-checksums',
          '--no-instructions',
        ],
        ...(options.durable ? [] : ['--no-sync']),
      ],
      { user: options.user, limitMs: 120_000 },
    );
    if (result.code !== 0) throw new SetupError(`PostgreSQL's data folder could not be created:\n${result.output}`);
    appendFileSync(join(unfinished, 'postgresql.conf'), `\ninclude = '${SETTINGS_FILE}'\n`);
    writeFileSync(join(unfinished, SETTINGS_FILE), '', { mode: 0o600 });
    giveTo(options.user, join(unfinished, SETTINGS_FILE));
    renameSync(unfinished, options.dataFolder);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function refuseOtherVersion(dataFolder: string): void {
  const version = readFileSync(join(dataFolder, 'PG_VERSION'), 'utf8').trim();
  if (version === MAJOR_VERSION) return;
  throw new SetupError(
    `${dirname(dataFolder)} holds a PostgreSQL ${version} cluster and this version brings PostgreSQL ${MAJOR_VERSION}. ` +
      "Dump what you need with the old version, or clear it with 'npm run reset'.",
  );
}
