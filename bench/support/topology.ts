import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LANES, type Role } from '../../config/lanes';
import { freePort } from '../../scripts/setup/os/ports';
import { projectRoot } from '../../scripts/setup/project';
import { ALL_HEAP_MIB_MAX, memoryOptions } from '../../src/roles/memory-options';
import type { SupervisionReport } from '../../src/operator/health/supervision';
import { roleTable } from '../../src/roles/supervisor/role-table';
import type { Closing } from './closing';
import type { Installation } from './installation';
import { ServerProcess, type ServerProcessOptions } from './server-process';

const MAIN = join(projectRoot, 'dist', 'src', 'main.js');
const SUPERVISOR = join(projectRoot, 'dist', 'src', 'roles', 'supervisor', 'main.js');

export const TOPOLOGIES = ['all', 'isolated'] as const;
export type TopologyName = (typeof TOPOLOGIES)[number];

/** What runs, as the load and the faults see it. */
export interface Topology {
  readonly name: TopologyName;
  /** Where a role is served. */
  urlOf(role: Role): string;
  /** The process that serves a role; null while there is none. */
  pidOf(role: Role): number | null;
  /** How often that process has been started again. */
  restartsOf(role: Role): number;
  stop(): Promise<void>;
}

export type TopologyOptions = Pick<ServerProcessOptions, 'nodeArguments' | 'descriptorsMax' | 'onMessage'> & {
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * In `all`: start the process again that has ended by itself, as an engine would. `npm start` itself does not, and the
   * supervisor of `isolated` always does.
   */
  readonly restart?: boolean;
};

/** Starts a topology and waits until all of it is ready; it stops when told to, or with everything else. */
export async function startTopology(
  name: TopologyName,
  installation: Installation,
  closing: Closing,
  options: TopologyOptions = {},
): Promise<Topology> {
  const start = name === 'all' ? startAll : startIsolated;
  return start(installation, closing, options);
}

function heapMibMaxOf(role: Role): number {
  return role === 'all' ? ALL_HEAP_MIB_MAX : roleTable[role].heapMibMax;
}

/** One process of one role by itself, without a supervisor, and with the memory that one would give it. */
export async function startRole(
  role: Role,
  installation: Installation,
  closing: Closing,
  options: TopologyOptions & { readonly script?: string } = {},
): Promise<{ url: string; process: ServerProcess }> {
  const port = await freePort();
  const server = new ServerProcess({
    ...options,
    name: role,
    script: options.script ?? MAIN,
    nodeArguments: [...memoryOptions(heapMibMaxOf(role)), ...(options.nodeArguments ?? [])],
    environment: { ...installation.environment, PORT: String(port), PAYMENT_ROLE: role, ...options.environment },
    logFile: join(installation.folder, `${role}.log`),
  });
  closing.add(`the process of ${role}`, () => server.stop());
  await server.ready();
  return { url: `http://127.0.0.1:${port}`, process: server };
}

const RESTART_AFTER_MS = 250;
const RESTARTS_MAX = 1_000;

async function startAll(installation: Installation, closing: Closing, options: TopologyOptions): Promise<Topology> {
  const port = await freePort();
  const launch = (): ServerProcess =>
    new ServerProcess({
      ...options,
      name: 'all',
      script: MAIN,
      // As `npm start` runs it; the supervisor gives its processes theirs.
      nodeArguments: [...memoryOptions(heapMibMaxOf('all')), ...(options.nodeArguments ?? [])],
      environment: { ...installation.environment, PORT: String(port), PAYMENT_ROLE: 'all', ...options.environment },
      logFile: join(installation.folder, 'all.log'),
    });
  let current = launch();
  let restarts = 0;
  let stopping = false;
  const keep = async (): Promise<void> => {
    while (restarts < RESTARTS_MAX) {
      await current.exit;
      await sleep(RESTART_AFTER_MS);
      if (stopping) return;
      restarts += 1;
      current = launch();
    }
  };
  const topology: Topology = {
    name: 'all',
    urlOf: () => `http://127.0.0.1:${port}`,
    pidOf: () => current.pid,
    restartsOf: () => restarts,
    stop: async () => {
      stopping = true;
      await current.stop();
    },
  };
  closing.add('the process of all', () => topology.stop());
  await current.ready();
  if (options.restart === true) void keep();
  return topology;
}

/** The supervisor that `npm run start:isolated` starts, with its five processes. */
async function startIsolated(
  installation: Installation,
  closing: Closing,
  options: TopologyOptions,
): Promise<Topology> {
  const ports = new Map<Role, number>();
  for (const role of [...LANES, 'operator'] as const) ports.set(role, await freePort());
  const addresses = Object.fromEntries([...ports].map(([role, port]) => [`PORT_${role.toUpperCase()}`, `${port}`]));
  let processes: SupervisionReport['processes'] = {};
  const supervisor = new ServerProcess({
    ...options,
    name: 'supervisor',
    script: SUPERVISOR,
    environment: { ...installation.environment, ...addresses, ...options.environment },
    logFile: join(installation.folder, 'isolated.log'),
    onMessage: (message) => {
      const report = message as Partial<SupervisionReport> | null;
      if (report?.type === 'supervision' && report.processes !== undefined) processes = report.processes;
    },
  });
  const topology: Topology = {
    name: 'isolated',
    urlOf: (role) => `http://127.0.0.1:${ports.get(role)}`,
    pidOf: (role) => processes[role]?.pid ?? null,
    restartsOf: (role) => processes[role]?.restarts ?? 0,
    stop: () => supervisor.stop(),
  };
  closing.add('the supervisor', () => topology.stop());
  await supervisor.ready();
  return topology;
}
