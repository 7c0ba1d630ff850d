import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, type ProcessIdentity } from '../os/processes';
import { ALL_HEAP_MIB_MAX, memoryOptions } from '../../../src/roles/memory-options';

export interface ApplicationExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

interface ReadyMessage {
  type: 'ready';
  url: string;
}

function isReady(message: unknown): message is ReadyMessage {
  const candidate = message as Partial<ReadyMessage> | null;
  return candidate?.type === 'ready' && typeof candidate.url === 'string';
}

/** The served process. It has a group of its own, so that Ctrl-C reaches it only through the launcher, once. */
export class Application {
  readonly identity: ProcessIdentity | null;
  /** The URL it serves on; never settles where it does not come that far. */
  readonly ready: Promise<string>;
  readonly exit: Promise<ApplicationExit>;

  private constructor(private readonly child: ChildProcess) {
    this.identity = child.pid === undefined ? null : identityOf(child.pid);
    this.ready = new Promise((resolve) => {
      child.on('message', (message) => isReady(message) && resolve(message.url));
    });
    this.exit = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    this.exit.catch(() => undefined);
  }

  /** @param environment the whole of it: nothing is added. */
  static start(main: string, environment: NodeJS.ProcessEnv): Application {
    // It drains and ends by itself when this channel closes, which a kill -9 of the launcher does too.
    const stdio: ('inherit' | 'ignore' | 'ipc')[] = ['ignore', 'inherit', 'inherit', 'ipc'];
    return new Application(
      spawn(process.execPath, [...memoryOptions(ALL_HEAP_MIB_MAX), main], { env: environment, stdio, detached: true }),
    );
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined;
  }

  /**
   * SIGTERM, and SIGKILL where it has not ended within the grace or somebody insists.
   *
   * @returns whether it drained and ended by itself, without a fault.
   */
  async stop(graceMs: number, forced: Promise<void>): Promise<boolean> {
    if (!this.running) return true;
    this.child.kill('SIGTERM');
    const timer = new AbortController();
    const late = sleep(graceMs, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
    const outcome = await Promise.race([this.exit, late, forced]);
    timer.abort();
    if (typeof outcome === 'object') return outcome.code === 0;
    this.killGroup();
    await this.exit;
    return false;
  }

  /** Whatever it has started itself must not outlive it. */
  private killGroup(): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
