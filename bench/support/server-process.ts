import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_MS_MAX = 45_000;
/** A server drains for up to 25 s (contract 13). */
const STOP_MS_MAX = 30_000;

export interface ServerProcessOptions {
  readonly name: string;
  readonly script: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly nodeArguments?: readonly string[];
  /** `ulimit -n` of the process. */
  readonly descriptorsMax?: number;
  /** Told of everything that it sends over its channel. */
  readonly onMessage?: (message: unknown) => void;
  readonly logFile: string;
}

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A server in a process of its own, with its output in a file, where writing it costs least. */
export class ServerProcess {
  readonly exit: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;

  constructor(private readonly options: ServerProcessOptions) {
    const log = openSync(options.logFile, 'a');
    const command = commandOf(options);
    // Detached: Ctrl-C reaches it only through the benchmark. The channel ends it where the benchmark is killed.
    this.#child = spawn(command.file, command.args, {
      env: options.environment,
      stdio: ['ignore', log, log, 'ipc'],
      detached: true,
    });
    closeSync(log);
    this.exit = new Promise((resolve) => {
      this.#child.once('error', () => resolve({ code: null, signal: null }));
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.#ready = new Promise((resolve) => {
      this.#child.on('message', (message) => {
        options.onMessage?.(message);
        if ((message as { type?: string } | null)?.type === 'ready') resolve();
      });
    });
  }

  get running(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number | null {
    return this.running ? (this.#child.pid ?? null) : null;
  }

  /** @throws where it ends first, or takes too long; the end of what it wrote is in the message. */
  async ready(): Promise<void> {
    const timer = new AbortController();
    const late = sleep(READY_MS_MAX, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
    const first = await Promise.race([this.#ready, this.exit, late]);
    timer.abort();
    if (first === undefined) return;
    this.signal('SIGKILL');
    const lines = readFileSync(this.options.logFile, 'utf8').trimEnd().split('\n').slice(-12).join('\n');
    throw new Error(`${this.options.name} did not become ready. The end of its output:\n${lines}`);
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#child.kill(signal);
  }

  /** SIGTERM, and SIGKILL where that takes longer than a drain may. */
  async stop(): Promise<void> {
    if (!this.running) return;
    this.signal('SIGTERM');
    const timer = new AbortController();
    const late = sleep(STOP_MS_MAX, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
    if ((await Promise.race([this.exit, late])) === 'late') this.signal('SIGKILL');
    timer.abort();
    await this.exit;
  }
}

function commandOf({ script, nodeArguments = [], descriptorsMax }: ServerProcessOptions): {
  file: string;
  args: string[];
} {
  const node = [process.execPath, ...nodeArguments, script];
  if (descriptorsMax === undefined) return { file: process.execPath, args: node.slice(1) };
  // `exec` keeps the number of the process and the open channel.
  return { file: '/bin/sh', args: ['-c', `ulimit -n ${descriptorsMax}; exec "$@"`, 'sh', ...node] };
}
