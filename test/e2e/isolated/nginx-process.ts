import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/setup/os/ports';
import { plainEnvironment, runCommand } from '../../../scripts/setup/os/run-command';
import { projectRoot } from '../../../scripts/setup/project';
import { findExecutable } from '../../../scripts/setup/services/redis-executable';
import type { SupervisedRole } from '../../../src/roles/supervisor/role-table';
import { atEndOfFile } from '../../support/closers';
import { eventually, send } from '../../support/http';
import { workerFolder } from '../../support/run-folder';

const INSTALL_LIMIT_MS = 120_000;
const USUAL_PLACE = '/usr/sbin/nginx';

/** The nginx of this machine, installed through apt where this user may; null where there is none to be had. */
export async function installedNginx(): Promise<string | null> {
  const present = (): string | null => findExecutable('nginx') ?? (existsSync(USUAL_PLACE) ? USUAL_PLACE : null);
  const apt = findExecutable('apt-get');
  if (present() !== null || apt === null || process.getuid?.() !== 0) return present();
  // RUNLEVEL=1 keeps the package's own service from being started.
  const env = { ...plainEnvironment(), RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'nginx'],
  ]) {
    await runCommand(apt, args, { env, limitMs: INSTALL_LIMIT_MS }).catch(() => undefined);
  }
  const systemctl = findExecutable('systemctl');
  if (systemctl !== null && present() !== null) {
    await runCommand(systemctl, ['disable', '--now', 'nginx.service'], { limitMs: 30_000 }).catch(() => undefined);
  }
  return present();
}

export interface EdgeRecord {
  lane: string;
  status: number;
  upstream: string;
  request_id: string;
}

/** docker/nginx.conf as it is, but for addresses, files and what a test changes. */
export class Edge {
  private constructor(
    readonly url: string,
    private readonly folder: string,
  ) {}

  /** @param upstreams the ports behind each name; several are replicas. */
  static async start(
    executable: string,
    upstreams: Readonly<Record<SupervisedRole, readonly number[]>>,
    changes: readonly (readonly [from: string, to: string])[] = [],
  ): Promise<Edge> {
    const folder = mkdtempSync(join(workerFolder(), 'nginx-'));
    // Its workers are not root.
    chmodSync(folder, 0o755);
    const port = await freePort();
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, configuration(folder, port, upstreams, changes));
    const log = join(folder, 'error.log');
    const child = spawn(executable, ['-p', folder, '-e', log, '-c', file, '-g', 'daemon off;'], {
      cwd: folder,
      env: plainEnvironment(),
      stdio: 'ignore',
    });
    const exit = new Promise<void>((resolve) => child.once('close', () => resolve()));
    atEndOfFile(async () => {
      child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true, force: true });
    });
    const edge = new Edge(`http://127.0.0.1:${port}`, folder);
    await eventually(`nginx answers; ${log}`, async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${readFileSync(log, 'utf8')}`);
      return send(`${edge.url}/v1/none`).then(
        () => true,
        () => false,
      );
    });
    return edge;
  }

  /** What its access log says of a request; the line comes after the answer. */
  async recordOf(requestId: string | null): Promise<EdgeRecord> {
    let found: EdgeRecord | undefined;
    await eventually(`the access log has ${requestId}`, async () => {
      const lines = readFileSync(join(this.folder, 'access.log'), 'utf8').split('\n').slice(0, -1);
      found = lines.map((line) => JSON.parse(line) as EdgeRecord).find((record) => record.request_id === requestId);
      return found !== undefined;
    });
    if (found === undefined) throw new Error('unreachable');
    return found;
  }
}

function configuration(
  folder: string,
  port: number,
  upstreams: Readonly<Record<string, readonly number[]>>,
  changes: readonly (readonly [from: string, to: string])[],
): string {
  let text = readFileSync(join(projectRoot, 'docker', 'nginx.conf'), 'utf8')
    .replaceAll('/tmp/', `${folder}/`)
    .replace('/dev/stdout', join(folder, 'access.log'))
    .replace('/dev/stderr', join(folder, 'error.log'))
    .replace('listen 8080', `listen 127.0.0.1:${port}`);
  text = text.replace(/server (\w+):\d+ ([^;]*;)/g, (_line, name: string, options: string) =>
    (upstreams[name] ?? []).map((each) => `server 127.0.0.1:${each} ${options}`).join('\n    '),
  );
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`docker/nginx.conf does not say '${from}' any more`);
    text = text.replaceAll(from, to);
  }
  return text;
}
