import type { SupervisedProcess } from '../../operator/health/supervision';
import { LineSplitter } from './log-lines';
import type { RestartPolicy } from './restart-policy';
import { RoleRun, type RunExit } from './role-run';
import { roleTable, type SupervisedRole } from './role-table';
import { applyNiceness } from './scheduling';

export interface RoleSupervisionOptions {
  role: SupervisedRole;
  main: string;
  environment: Record<string, string>;
  policy: RestartPolicy;
  onLine(role: SupervisedRole, stream: 'stdout' | 'stderr', line: string): void;
  onEvent(role: SupervisedRole, level: 'info' | 'warn' | 'error', message: string, fields: object): void;
}

type State = SupervisedProcess['state'];

/** A start waits up to 30 s for its database, on a machine that may be busy; one that takes this long will never be ready. */
const START_MS_MAX = 120_000;

/** One role over all its lives: started, watched, started again after a wait, in the end left down or stopped. */
export class RoleSupervision {
  readonly role: SupervisedRole;
  readonly #options: RoleSupervisionOptions;
  #state: State = 'stopped';
  #run: RoleRun | null = null;
  #url: string | null = null;
  #niceness: number | null = null;
  #restarts = 0;
  #lastExit: SupervisedProcess['last_exit'] = null;
  /** Of the next start, or of the limit of the present one. */
  #timer: NodeJS.Timeout | null = null;
  #restartAt: Date | null = null;
  #onEnd: (() => void) | null = null;
  /** Whether the stop, if there was one, ended as it should. */
  #drained = true;

  constructor(options: RoleSupervisionOptions) {
    this.role = options.role;
    this.#options = options;
  }

  get state(): State {
    return this.#state;
  }

  get url(): string | null {
    return this.#url;
  }

  start(): void {
    const { role, main, environment } = this.#options;
    this.#restartAt = null;
    this.#state = 'starting';
    const run = new RoleRun({
      main,
      environment,
      specification: roleTable[role],
      onReady: (url) => this.#becameReady(url),
      onExit: (exit) => this.#ended(run, exit),
    });
    this.#run = run;
    for (const [name, stream] of Object.entries(run.streams) as ['stdout' | 'stderr', typeof run.streams.stdout][]) {
      const splitter = new LineSplitter((line) => this.#options.onLine(role, name, line));
      stream?.on('data', (chunk: Buffer) => splitter.write(chunk));
      stream?.on('end', () => splitter.end());
      stream?.on('error', () => undefined);
    }
    this.#timer = setTimeout(() => {
      this.#tell('error', 'process did not become ready in time and is killed', { limit_ms: START_MS_MAX });
      run.kill('SIGKILL');
    }, START_MS_MAX);
    this.#schedule();
    this.#tell('info', 'process started', {});
  }

  /** Once more for a role that stays down; others are not touched. */
  revive(): void {
    if (this.#state !== 'down') return;
    this.#options.policy.forget();
    this.start();
  }

  tell(message: object): void {
    if (this.#run?.ready === true) this.#run.tell(message);
  }

  /** SIGTERM, and SIGKILL after the limit. @returns whether it drained and ended by itself, without a fault. */
  async stop(limitMs: number): Promise<boolean> {
    this.#clearTimer();
    this.#restartAt = null;
    const run = this.#run;
    if (run === null) {
      this.#state = 'stopped';
      return true;
    }
    this.#state = 'stopping';
    const ended = new Promise<void>((resolve) => (this.#onEnd = resolve));
    const limit = setTimeout(() => {
      this.#tell('error', 'process did not drain in time and is killed', { limit_ms: limitMs });
      run.kill('SIGKILL');
    }, limitMs);
    run.kill('SIGTERM');
    await ended;
    clearTimeout(limit);
    return this.#drained;
  }

  kill(): void {
    this.#run?.kill('SIGKILL');
  }

  describe(): SupervisedProcess {
    return {
      state: this.#state,
      pid: this.#run?.pid ?? null,
      niceness: this.#niceness,
      restarts: this.#restarts,
      restart_at: this.#restartAt?.toISOString() ?? null,
      last_exit: this.#lastExit,
    };
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #becameReady(url: string): void {
    this.#url = url;
    this.#clearTimer();
    if (this.#state === 'starting') this.#state = 'ready';
    // Threads that were made before their maker got its niceness.
    this.#schedule();
    this.#tell('info', 'process ready', { url, niceness: this.#niceness });
  }

  #schedule(): void {
    const pid = this.#run?.pid ?? null;
    this.#niceness = pid === null ? null : applyNiceness(pid, roleTable[this.role].niceness);
  }

  #ended(run: RoleRun, { code, signal, fault }: RunExit): void {
    const ranMs = performance.now() - run.startedAtMs;
    this.#clearTimer();
    this.#lastExit = { code, signal, at: new Date().toISOString() };
    this.#run = null;
    const how = { code, signal, ...(fault === null ? {} : { fault }), ran_ms: Math.round(ranMs), ready: run.ready };
    if (this.#state === 'stopping') {
      // One that had not come so far as to listen for signals has accepted nothing either.
      this.#drained = code === 0 || (!run.ready && signal === 'SIGTERM');
      this.#state = 'stopped';
      this.#tell(this.#drained ? 'info' : 'error', 'process stopped', how);
      this.#onEnd?.();
      return;
    }
    const waitMs = this.#options.policy.afterDeath(performance.now(), ranMs);
    if (waitMs === null) {
      this.#state = 'down';
      this.#tell('error', 'process has died too often and stays down; SIGUSR2 to the supervisor tries again', {
        alert: 'ALERT_PROCESS_DOWN',
        ...how,
      });
      return;
    }
    this.#state = 'waiting';
    this.#restarts += 1;
    this.#restartAt = new Date(Date.now() + waitMs);
    this.#timer = setTimeout(() => this.start(), waitMs);
    this.#tell('warn', 'process ended unexpectedly', { ...how, restart_in_ms: waitMs, restarts: this.#restarts });
  }

  #tell(level: 'info' | 'warn' | 'error', message: string, fields: object): void {
    this.#options.onEvent(this.role, level, message, { process: this.role, process_pid: this.#run?.pid, ...fields });
  }
}
