import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/setup/os/ports';
import { plainEnvironment } from '../../scripts/setup/os/run-command';
import { projectRoot } from '../../scripts/setup/project';
import { atEndOfFile } from './closers';
import { workerFolder } from './run-folder';
import { testRedis } from './services';
import type { TestDatabase } from './test-database';
import type { TestIdentity } from './token';

export const OPERATOR_PASSWORD = 'operator-for-tests';

export interface ServerOptions {
  database: TestDatabase;
  identity: TestIdentity;
  /** Further settings, or others than the usual ones; an empty string takes one away. */
  environment?: Readonly<Record<string, string>>;
  /** What must answer 200 before the server counts as started; null does not wait. */
  readyPath?: string | null;
  readyMsMax?: number;
  nodeArguments?: readonly string[];
  /** The folder of the product; left out, this one. */
  productFolder?: string;
}

export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server in a process of its own, as it runs in production: nothing of the test is loaded into it. */
export class ServerProcess {
  /** Everything it wrote to standard output and error so far, line by line. */
  readonly lines: string[] = [];
  readonly exit: Promise<ServerExit>;
  private ended = false;

  constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
    }
    this.exit = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        this.ended = true;
        resolve({ code, signal });
      });
    });
    this.exit.catch(() => undefined);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get running(): boolean {
    return !this.ended;
  }

  /** Log lines that are JSON objects, parsed; whatever else was written is left out. */
  get records(): Record<string, unknown>[] {
    return this.lines.flatMap((line) => {
      try {
        return line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [];
      } catch {
        return [];
      }
    });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ServerExit> {
    this.child.kill(signal);
    return this.exit;
  }

  /** SIGTERM, as npm or an orchestrator sends it. @returns the exit code; null where a signal ended it. */
  async terminate(): Promise<number | null> {
    return (await this.kill('SIGTERM')).code;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** @throws when it ended, or did not answer 200 within the limit; its last lines are in the message. */
  async waitForOk(path: string, limitMs: number): Promise<void> {
    const deadline = performance.now() + limitMs;
    let last = 'nothing answered';
    while (this.running && performance.now() < deadline) {
      try {
        const response = await fetch(`${this.url}${path}`, { signal: AbortSignal.timeout(2_000) });
        if (response.ok) return;
        last = `${response.status} ${await response.text()}`;
      } catch (error) {
        last = String(error);
      }
      await sleep(25);
    }
    const state = this.running ? `did not answer 200 on ${path} within ${limitMs} ms (${last})` : 'ended';
    throw new Error(`The server ${state}. Its last lines:\n${this.lines.slice(-20).join('\n')}`);
  }
}

/** Starts dist/src/main.js on a free port and waits until it is ready; it is killed at the end of the test file. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const folder = options.productFolder ?? projectRoot;
  const main = join(folder, 'dist', 'src', 'main.js');
  if (!existsSync(main)) throw new Error(`${main} is missing: 'npm test' and 'npm run build' make it`);
  const port = await freePort();
  const child = spawn(process.execPath, [...(options.nodeArguments ?? []), main], {
    cwd: folder,
    env: await environmentOf(options, port),
    // The channel closes with this worker, and the server then ends by itself, however the worker died.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const server = new ServerProcess(child, `http://127.0.0.1:${port}`);
  const record = join(workerFolder(), 'servers', String(server.pid));
  mkdirSync(join(workerFolder(), 'servers'), { recursive: true });
  writeFileSync(record, '');
  server.exit.finally(() => rmSync(record, { force: true })).catch(() => undefined);
  atEndOfFile(async () => {
    if (server.running) await server.kill('SIGKILL');
  });
  if (options.readyPath !== null) {
    await server.waitForOk(options.readyPath ?? '/health/ready', options.readyMsMax ?? 30_000);
  }
  return server;
}

async function environmentOf(options: ServerOptions, port: number): Promise<NodeJS.ProcessEnv> {
  const environment: NodeJS.ProcessEnv = {
    ...plainEnvironment(),
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    PORT: String(port),
    ...options.database.environment,
    REDIS_URL: (await testRedis()).url,
    JWKS_FILE: options.identity.jwksFile,
    OPERATOR_PASSWORD,
    ...options.environment,
  };
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
