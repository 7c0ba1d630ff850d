import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityOf } from '../../scripts/setup/os/processes';
import { canReach, serviceUser } from '../../scripts/setup/os/service-user';
import { projectHash, projectRoot } from '../../scripts/setup/project';

const PREFIX = `payment-core-test-${projectHash}-`;
const endScript = join(projectRoot, 'test', 'support', 'end-services.sh');

/** The process that runs the whole test run: this one, or the one that forked this worker. */
export function runnerPid(): number {
  return process.argv[1]?.includes('jest-worker') ? process.ppid : process.pid;
}

/** Where services may be put: the temporary folder, unless their user cannot get there. */
function temporaryFolder(): string {
  const user = serviceUser();
  const folder = [tmpdir(), '/tmp', '/var/tmp'].find((candidate) => existsSync(candidate) && canReach(user, candidate));
  return realpathSync(folder ?? tmpdir());
}

function runFolder(): string {
  return join(temporaryFolder(), `${PREFIX}${runnerPid()}`);
}

/** This worker's folder of this run; the first caller of a run also sets the guard that clears up after it. */
export function workerFolder(): string {
  const folder = runFolder();
  if (!existsSync(folder)) {
    endAbandonedRuns();
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o755);
    spawn('/bin/sh', [endScript, folder, String(runnerPid())], { cwd: '/', detached: true, stdio: 'ignore' }).unref();
  }
  const worker = join(folder, `worker-${workerNumber()}`);
  mkdirSync(worker, { recursive: true });
  chmodSync(worker, 0o755);
  return worker;
}

function workerNumber(): string {
  return process.env['JEST_WORKER_ID'] ?? '1';
}

export function endRun(): void {
  endServices(runFolder());
}

/** A run whose runner and guard were both killed still has its services: the next run ends them. */
function endAbandonedRuns(): void {
  const parent = temporaryFolder();
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    if (identityOf(Number(name.slice(PREFIX.length))) === null) endServices(join(parent, name));
  }
}

function endServices(folder: string): void {
  spawnSync('/bin/sh', [endScript, folder], { cwd: '/', stdio: 'ignore', timeout: 30_000 });
}
