import type { SupervisionReport } from '../../operator/health/supervision';
import { logLine } from './log-lines';
import type { LogSink } from './log-sink';
import { RestartPolicy } from './restart-policy';
import { environmentOf, type Source } from './role-environment';
import { RoleSupervision } from './role-supervision';
import { SUPERVISED_ROLES, type SupervisedRole } from './role-table';
import type { SupervisorLog } from './supervisor-log';
import type { SupervisorSettings } from './supervisor-settings';

export interface SupervisorOptions {
  main: string;
  source: Source;
  settings: SupervisorSettings;
  sink: LogSink;
  log: SupervisorLog;
  /** To whoever started the supervisor: `ready` once, when every process has been ready, and each change of state. */
  tellParent(message: object): void;
}

/** One process per lane and the operator's, each alone with its event loop, heap, sockets and connections (contract 2). */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #roles: ReadonlyMap<SupervisedRole, RoleSupervision>;
  readonly #neverReady = new Set<SupervisedRole>(SUPERVISED_ROLES);
  readonly #allDown = Promise.withResolvers<void>();
  #readyTold = false;
  #stopping: Promise<0 | 1> | null = null;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const roles = SUPERVISED_ROLES.map((role) => [role, this.#supervise(role)] as const);
    this.#roles = new Map(roles);
  }

  /** Settles when no process is left that would be started again: there is nothing to supervise any more. */
  get allDown(): Promise<void> {
    return this.#allDown.promise;
  }

  start(): void {
    for (const role of this.#roles.values()) role.start();
  }

  /** Tries the processes again that stay down. */
  revive(): void {
    if (this.#stopping !== null) return;
    for (const role of this.#roles.values()) role.revive();
  }

  /**
   * All lanes drain at the same time, each in the order of contract 13; then the operator, whose `/health` shows until
   * then how far they are.
   *
   * @returns 0 when every process ended by itself and without a fault, else 1.
   */
  stop(why: string): Promise<0 | 1> {
    this.#stopping ??= this.#stopAll(why);
    return this.#stopping;
  }

  /** Whoever asks twice does not want to wait. */
  killAll(): void {
    for (const role of this.#roles.values()) role.kill();
  }

  report(): SupervisionReport {
    const processes = [...this.#roles].map(([role, supervision]) => [role, supervision.describe()] as const);
    return { type: 'supervision', supervisor_pid: process.pid, processes: Object.fromEntries(processes) };
  }

  async #stopAll(why: string): Promise<0 | 1> {
    const { settings, log } = this.#options;
    log.write('info', 'stopping', { why });
    const all = [...this.#roles.values()];
    const lanes = all.filter(({ role }) => role !== 'operator');
    const operator = all.filter(({ role }) => role === 'operator');
    const drained = await Promise.all(lanes.map((lane) => lane.stop(settings.stop.laneMsMax)));
    drained.push(...(await Promise.all(operator.map((role) => role.stop(settings.stop.operatorMsMax)))));
    return drained.every(Boolean) ? 0 : 1;
  }

  #supervise(role: SupervisedRole): RoleSupervision {
    const { main, source, settings, sink, log } = this.#options;
    return new RoleSupervision({
      role,
      main,
      environment: environmentOf(role, source),
      policy: new RestartPolicy(settings.restarts),
      onLine: (from, stream, line) => sink.write(from, logLine(from, stream, line, new Date())),
      onEvent: (_role, level, message, fields) => {
        log.write(level, message, fields);
        this.#changed();
      },
    });
  }

  /** After each change of a process: the operator's process shows it, the parent may. */
  #changed(): void {
    const report = this.report();
    this.#roles.get('operator')?.tell(report);
    this.#options.tellParent(report);
    const roles = [...this.#roles.values()];
    if (roles.every(({ state }) => state === 'down')) this.#allDown.resolve();
    for (const { role, state } of roles) if (state === 'ready') this.#neverReady.delete(role);
    if (this.#neverReady.size > 0 || this.#readyTold) return;
    // Told once: a process that starts again later does not make the others unready.
    this.#readyTold = true;
    const urls = Object.fromEntries(roles.map(({ role, url }) => [role, url]));
    this.#options.log.write('info', 'ready', { urls });
    this.#options.tellParent({ type: 'ready', url: urls['operator'], urls });
  }
}
