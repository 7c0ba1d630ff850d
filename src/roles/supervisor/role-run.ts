import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { memoryOptions } from '../memory-options';
import type { ProcessSpecification } from './role-table';

export interface RunExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Where it could not even be started. */
  fault: string | null;
}

export interface RunOptions {
  /** The compiled main.js: the same for every role. */
  main: string;
  specification: ProcessSpecification;
  /** The whole of it: nothing is added. */
  environment: Record<string, string>;
  onReady(url: string): void;
  onExit(exit: RunExit): void;
}

/** Node's own options go on to the processes; a debugger's port can be held by one of them only. */
function nodeOptions({ heapMibMax }: ProcessSpecification): string[] {
  const inherited = process.execArgv.filter((option) => !option.startsWith('--inspect'));
  return [...inherited, ...memoryOptions(heapMibMax)];
}

/**
 * One life of a role's process. It is no leader of a session or group: where the kernel schedules by session, niceness
 * counts inside one only, and who kills the supervisor's group means all of them. It drains and ends by itself
 * when the channel closes, which a kill -9 of the supervisor does.
 */
export class RoleRun {
  readonly startedAtMs = performance.now();
  readonly #child: ChildProcess;
  ready = false;
  ended = false;

  constructor(options: RunOptions) {
    const { main, environment, specification, onReady, onExit } = options;
    this.#child = spawn(process.execPath, [...nodeOptions(specification), main], {
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.on('message', (message) => {
      const { type, url } = message as { type?: unknown; url?: unknown };
      if (type !== 'ready' || typeof url !== 'string' || this.ready) return;
      this.ready = true;
      onReady(url);
    });
    const end = (exit: RunExit): void => {
      if (this.ended) return;
      this.ended = true;
      onExit(exit);
    };
    this.#child.once('exit', (code, signal) => end({ code, signal, fault: null }));
    this.#child.on('error', (error) => {
      if (this.#child.pid === undefined) end({ code: null, signal: null, fault: error.message });
    });
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** What it writes; the last of it comes after its end. */
  get streams(): { stdout: Readable | null; stderr: Readable | null } {
    return { stdout: this.#child.stdout, stderr: this.#child.stderr };
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.ended) this.#child.kill(signal);
  }

  /** Told and forgotten: a process that dies just now hears nothing, and its successor is told again. */
  tell(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}
