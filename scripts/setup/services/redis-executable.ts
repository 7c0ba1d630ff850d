import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runCommand } from '../os/run-command';
import { step } from '../report';
import { readScriptEnvironment } from '../script-environment';
import { SetupError } from '../setup-error';

/** BullMQ's own minimum for all that it offers. */
const VERSION_MIN = [6, 2] as const;
const INSTALL_LIMIT_MS = 10 * 60_000;

/** The `redis-server` of this machine; installed through apt where it is absent and this user may do so. */
export async function installedRedis(): Promise<string> {
  const present = findExecutable('redis-server');
  if (present !== null) return acceptable(present);
  const apt = findExecutable('apt-get');
  const asRoot = apt === null ? null : await rootCommand();
  if (apt !== null && asRoot !== null) {
    await step('installing redis-server with apt-get (once)', () => installWithApt(apt, asRoot));
    const installed = findExecutable('redis-server');
    if (installed !== null) return acceptable(installed);
  }
  throw new SetupError(
    `Redis is not installed. ${installLine()}\nOr give one that runs: REDIS_URL=redis://127.0.0.1:6379 npm start`,
  );
}

export function findExecutable(name: string): string | null {
  const path = readScriptEnvironment().variables['PATH'] ?? '';
  const folders = path.split(delimiter);
  for (const folder of folders.filter((given) => given !== '')) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      continue;
    }
  }
  return null;
}

async function acceptable(executable: string): Promise<string> {
  const { output } = await runCommand(executable, ['--version'], { limitMs: 10_000 });
  const [major, minor] = (/v=(\d+)\.(\d+)/.exec(output) ?? []).slice(1).map(Number);
  if (major === undefined || minor === undefined)
    throw new SetupError(`${executable} does not say its version: ${output}`);
  if (major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1])) return executable;
  throw new SetupError(`${executable} is Redis ${major}.${minor}; ${VERSION_MIN.join('.')} or newer is needed`);
}

/** How a command is run as root without asking anybody: nothing before it, or sudo; null where neither works. */
async function rootCommand(): Promise<readonly string[] | null> {
  if (process.getuid?.() === 0) return [];
  const sudo = findExecutable('sudo');
  if (sudo === null) return null;
  const { code } = await runCommand(sudo, ['-n', 'true'], { limitMs: 10_000 });
  return code === 0 ? [sudo, '-n'] : null;
}

async function installWithApt(apt: string, asRoot: readonly string[]): Promise<void> {
  // RUNLEVEL=1 keeps the package's own service from being started.
  const environment = ['env', 'RUNLEVEL=1', 'DEBIAN_FRONTEND=noninteractive'];
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'redis-server'],
  ]) {
    const [file = apt, ...rest] = [...asRoot, ...environment, apt, ...args];
    const result = await runCommand(findExecutable(file) ?? file, rest, { limitMs: INSTALL_LIMIT_MS });
    // A list that could not be refreshed is often good enough; the installation itself decides.
    if (result.code !== 0 && args[0] === 'install') {
      const end = result.output.split('\n').slice(-8).join('\n');
      throw new SetupError(`apt-get could not install Redis:\n${end}\n${installLine()}`);
    }
  }
  await stopSystemService(asRoot);
}

/** Where systemd started the package's service all the same: payment-core runs a Redis of its own. */
async function stopSystemService(asRoot: readonly string[]): Promise<void> {
  const systemctl = findExecutable('systemctl');
  if (systemctl === null) return;
  const [file = systemctl, ...rest] = [...asRoot, systemctl, 'disable', '--now', 'redis-server.service'];
  await runCommand(file, rest, { limitMs: 60_000 });
}

function installLine(): string {
  const lines: readonly (readonly [string, string])[] = [
    ['apt-get', 'sudo apt-get update && sudo apt-get install -y redis-server'],
    ['dnf', 'sudo dnf install -y redis'],
    ['apk', 'sudo apk add redis'],
    ['pacman', 'sudo pacman -S redis'],
    ['brew', 'brew install redis'],
  ];
  const known = lines.find(([manager]) => findExecutable(manager) !== null);
  return known === undefined
    ? "Install redis-server (6.2 or newer) and put it into PATH; on Debian: 'sudo apt-get install -y redis-server'."
    : `Run this, then start again:\n\n  ${known[1]}\n`;
}
