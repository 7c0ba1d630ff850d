/** How one process of the isolated topology stands, as its supervisor tells. */
export interface SupervisedProcess {
  readonly state: 'starting' | 'ready' | 'waiting' | 'down' | 'stopping' | 'stopped';
  readonly pid: number | null;
  /** Scheduling priority, lower is more; null where the process is gone. */
  readonly niceness: number | null;
  readonly restarts: number;
  readonly restart_at: string | null;
  readonly last_exit: { readonly code: number | null; readonly signal: string | null; readonly at: string } | null;
}

/** What a supervisor sends to the operator's process after each change. */
export interface SupervisionReport {
  readonly type: 'supervision';
  readonly supervisor_pid: number;
  readonly processes: Readonly<Record<string, SupervisedProcess>>;
}

/** The supervisor's last word; null where there is none, in `all` and under other supervisors. */
export class Supervision {
  #processes: SupervisionReport['processes'] | null = null;
  readonly #onMessage = (message: unknown): void => {
    const report = message as Partial<SupervisionReport> | null;
    if (report?.type === 'supervision' && report.processes !== undefined) this.#processes = report.processes;
  };

  constructor() {
    if (process.connected) process.on('message', this.#onMessage);
  }

  get processes(): SupervisionReport['processes'] | null {
    return this.#processes;
  }

  onApplicationShutdown(): void {
    process.off('message', this.#onMessage);
  }
}
