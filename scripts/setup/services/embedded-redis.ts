import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, portState } from '../os/ports';
import { identityOf, type ProcessIdentity, signalProcess, waitForExit, workingFolderOf } from '../os/processes';
import { plainEnvironment } from '../os/run-command';
import { giveTo, type ServiceUser } from '../os/service-user';
import { SetupError } from '../setup-error';

export interface EmbeddedRedisOptions {
  dataFolder: string;
  logFile: string;
  /** The redis-server to run. */
  executable: string;
  user: ServiceUser | null;
  password: string;
  portPreferred: number | null;
  /** False in tests only: no append-only file. */
  durable: boolean;
}

export interface RunningRedis {
  port: number;
  server: ProcessIdentity;
  url: string;
  adopted: boolean;
}

const PID_FILE = 'redis.pid';
const CONFIG_FILE = 'redis.conf';
const SERVES_WAIT_MS = 60_000;

/** Starts Redis on its folder, or takes over the one that a killed launcher left. */
export async function startRedis(options: EmbeddedRedisOptions): Promise<RunningRedis> {
  mkdirSync(options.dataFolder, { recursive: true, mode: 0o700 });
  giveTo(options.user, options.dataFolder);
  const left = runningRedis(options.dataFolder);
  if (left !== null) {
    const port = Number(/^port (\d+)$/m.exec(readConfig(options.dataFolder))?.[1] ?? 0);
    if (readConfig(options.dataFolder) === configuration(options, port) && (await answers(port, options.password))) {
      return { port, server: left, url: urlOf(options, port), adopted: true };
    }
    await stopRedis(options.dataFolder);
  }
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(attempt === 1 ? options.portPreferred : null);
    const server = await startOn(options, port);
    if (typeof server !== 'string') return { port, server, url: urlOf(options, port), adopted: false };
    if (attempt < 3 && (await portState('127.0.0.1', port)) === 'taken') continue;
    const log = endOf(options.logFile);
    const told = log === null ? '' : ` The end of ${options.logFile}:\n${log}`;
    throw new SetupError(`Redis did not start: ${server}.${told}`);
  }
}

/** SIGTERM: Redis writes its append-only file out and ends. */
export async function stopRedis(dataFolder: string): Promise<void> {
  const server = runningRedis(dataFolder);
  if (server === null) return;
  signalProcess(server, 'SIGTERM');
  if (await waitForExit(server, 30_000)) return;
  signalProcess(server, 'SIGKILL');
  await waitForExit(server, 5_000);
  throw new SetupError(`Redis (process ${server.pid}) did not end within 30 s and was killed`);
}

/** The server that runs on this folder, whoever started it: Redis works inside its data folder. */
export function runningRedis(dataFolder: string): ProcessIdentity | null {
  try {
    const server = identityOf(Number(readFileSync(join(dataFolder, PID_FILE), 'utf8')));
    return server !== null && workingFolderOf(server.pid) === realpathSync(dataFolder) ? server : null;
  } catch {
    return null;
  }
}

function urlOf(options: EmbeddedRedisOptions, port: number): string {
  return `redis://:${encodeURIComponent(options.password)}@127.0.0.1:${port}`;
}

function readConfig(dataFolder: string): string {
  try {
    return readFileSync(join(dataFolder, CONFIG_FILE), 'utf8');
  } catch {
    return '';
  }
}

function endOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return null;
  }
}

/** Jobs must survive a crash and never be evicted; snapshots add nothing to an append-only file. */
function configuration(options: EmbeddedRedisOptions, port: number): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${options.password}`,
    `dir "${options.dataFolder}"`,
    `pidfile "${join(options.dataFolder, PID_FILE)}"`,
    `logfile "${options.logFile}"`,
    'daemonize no',
    `appendonly ${options.durable ? 'yes' : 'no'}`,
    'appendfsync everysec',
    'save ""',
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    '',
  ].join('\n');
}

async function choosePort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await portState('127.0.0.1', preferred)) === 'free') return preferred;
  return freePort();
}

/** @returns the server, or why there is none. */
async function startOn(options: EmbeddedRedisOptions, port: number): Promise<ProcessIdentity | string> {
  const configFile = join(options.dataFolder, CONFIG_FILE);
  writeFileSync(configFile, configuration(options, port), { mode: 0o600 });
  giveTo(options.user, configFile);
  const child = spawn(options.executable, [configFile], {
    ...(options.user ?? {}),
    cwd: '/',
    env: plainEnvironment(),
    detached: true,
    stdio: 'ignore',
  });
  child.unref();
  const failure = await failureOf(child, options, port);
  return failure ?? identityOf(child.pid ?? 0) ?? 'it ended at once';
}

/**
 * Loading a large append-only file takes its time; a server that has ended will not answer any more.
 *
 * @returns null as soon as it serves.
 */
async function failureOf(child: ChildProcess, options: EmbeddedRedisOptions, port: number): Promise<string | null> {
  let failure: string | null = null;
  child.once('error', (error) => (failure = whyNotExecuted(error, options)));
  child.once('exit', (code, signal) => (failure = `it ended with ${signal ?? `exit code ${code}`}`));
  const deadline = performance.now() + SERVES_WAIT_MS;
  while (performance.now() < deadline) {
    if (failure !== null) return failure;
    // The process number is looked at too: another server may answer on that port, with the same password or none.
    if ((await answers(port, options.password)) && runningRedis(options.dataFolder)?.pid === child.pid) return null;
    await sleep(20);
  }
  child.kill('SIGKILL');
  return failure ?? `it did not answer within ${SERVES_WAIT_MS / 1_000} s`;
}

/** Root may execute what the services' user may not reach, such as a build of one's own below root's home. */
function whyNotExecuted(error: Error, { executable, user }: EmbeddedRedisOptions): string {
  if ((error as NodeJS.ErrnoException).code !== 'EACCES' || user === null) return error.message;
  return (
    `${executable} cannot be executed by the unprivileged user that it runs as (uid ${user.uid}). ` +
    'Open it and the folders above it to others, or have PATH name a folder first in which redis-server is open'
  );
}

/** One inline PING; anything but a PONG (loading, wrong password, nobody there) is a no. */
export function answers(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    let reply = '';
    const end = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk: Buffer) => {
      reply += chunk.toString('latin1');
      if (reply === '+OK\r\n+PONG\r\n') end(true);
      else if (/^-|\n-/.test(reply)) end(false);
    });
  });
}
