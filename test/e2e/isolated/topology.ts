import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isAlive, type ProcessIdentity } from '../../../scripts/setup/os/processes';
import { freePort } from '../../../scripts/setup/os/ports';
import { plainEnvironment } from '../../../scripts/setup/os/run-command';
import { projectRoot } from '../../../scripts/setup/project';
import type { SupervisedProcess } from '../../../src/operator/health/supervision';
import { SUPERVISED_ROLES, type SupervisedRole } from '../../../src/roles/supervisor/role-table';
import { atEndOfFile } from '../../support/closers';
import { type Answer, eventually, send } from '../../support/http';
import { OPERATOR_PASSWORD, ServerProcess } from '../../support/server-process';
import { testRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

const SUPERVISOR = join(projectRoot, 'dist', 'src', 'roles', 'supervisor', 'main.js');
const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;

export interface LaneShown {
  status: string;
}

/** The isolated topology as it runs in production: a supervisor and five processes, on ports of their own. */
export class Topology {
  private constructor(
    readonly supervisor: ServerProcess,
    readonly database: TestDatabase,
    readonly identity: TestIdentity,
    readonly ports: Readonly<Record<SupervisedRole, number>>,
  ) {}

  /** @param environmentOf settings beside the usual ones, or in their place. */
  static async start(
    environmentOf: (database: TestDatabase) => Readonly<Record<string, string>> = () => ({}),
  ): Promise<Topology> {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const ports = await freePorts();
    const named = Object.entries(ports).map(([role, port]) => [`PORT_${role.toUpperCase()}`, String(port)]);
    const child = spawn(process.execPath, [SUPERVISOR], {
      cwd: projectRoot,
      env: {
        ...plainEnvironment(),
        NODE_ENV: 'test',
        ...database.environment,
        ...(Object.fromEntries(named) as Record<string, string>),
        // One port for all is what a process alone would take; here it must lead to no collision.
        PORT: '3000',
        REDIS_URL: (await testRedis()).url,
        JWKS_FILE: identity.jwksFile,
        PAYMENT_FAULTS: '1',
        OPERATOR_PASSWORD,
        ...environmentOf(database),
      },
      // The channel closes with this worker: supervisor and processes then end by themselves.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const supervisor = new ServerProcess(child, `http://127.0.0.1:${ports.operator}`);
    const topology = new Topology(supervisor, database, identity, ports);
    atEndOfFile(() => topology.end());
    return topology;
  }

  urlOf(role: SupervisedRole): string {
    return `http://127.0.0.1:${this.ports[role]}`;
  }

  /** @throws with the last lines where a role is not ready within the limit. */
  async waitForReady(roles: readonly SupervisedRole[] = SUPERVISED_ROLES, limitMs = 100_000): Promise<void> {
    await eventually(
      `${roles.join(', ')} ready`,
      async () => {
        if (!this.supervisor.running) throw new Error(this.supervisor.lines.slice(-20).join('\n'));
        const answers = await Promise.all(roles.map((role) => statusOf(`${this.urlOf(role)}/health/ready`)));
        return answers.every((status) => status === 200);
      },
      limitMs,
    );
  }

  async health(): Promise<Answer> {
    return send(`${this.urlOf('operator')}/health`);
  }

  async laneShown(lane: string): Promise<LaneShown | undefined> {
    return ((await this.health()).body['lanes'] as Record<string, LaneShown>)[lane];
  }

  async processes(): Promise<Record<SupervisedRole, SupervisedProcess>> {
    return (await this.health()).body['processes'] as Record<SupervisedRole, SupervisedProcess>;
  }

  async pidOf(role: SupervisedRole): Promise<number> {
    return (await this.processes())[role].pid ?? 0;
  }

  authorize(url = this.urlOf('authorization')): Promise<Answer> {
    return this.identity.bearer().then((bearer) =>
      send(`${url}/v1/authorizations`, {
        bearer,
        body: { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 100, currency: 'USD' },
      }),
    );
  }

  /** Authorizes one after the other for as long as the work lasts. @returns how each was answered. */
  async authorizeDuring(work: Promise<unknown>, url?: string): Promise<number[]> {
    const statuses: number[] = [];
    let over = false;
    const ended = work.finally(() => (over = true));
    while (!over) statuses.push((await this.authorize(url)).status);
    await ended;
    return statuses;
  }

  setFaults(lane: Exclude<SupervisedRole, 'operator'>, faults: object): Promise<Answer> {
    const headers = { Authorization: basic };
    return send(`${this.urlOf(lane)}/faults/${lane}`, { method: 'PUT', body: faults, headers });
  }

  /** The processes under the supervisor at this moment, known beyond its own end. */
  async children(): Promise<ProcessIdentity[]> {
    return identitiesOf(await this.processes());
  }

  private async end(): Promise<void> {
    if (!this.supervisor.running) return;
    const found = await this.children().catch(() => []);
    await this.supervisor.kill('SIGKILL');
    for (const { pid } of found.filter(isAlive)) process.kill(pid, 'SIGKILL');
  }
}

async function freePorts(): Promise<Record<SupervisedRole, number>> {
  const ports = new Set<number>();
  while (ports.size < SUPERVISED_ROLES.length) ports.add(await freePort());
  const numbers = [...ports];
  return Object.fromEntries(SUPERVISED_ROLES.map((role, index) => [role, numbers[index]])) as Record<
    SupervisedRole,
    number
  >;
}

async function statusOf(url: string): Promise<number> {
  try {
    return (await send(url, { signal: AbortSignal.timeout(2_000) })).status;
  } catch {
    return 0;
  }
}

export function identitiesOf(processes: Readonly<Record<string, SupervisedProcess>>): ProcessIdentity[] {
  return Object.values(processes)
    .map(({ pid }) => identityOf(pid ?? 0))
    .filter((identity) => identity !== null);
}

/** The niceness of every thread of a process; on Linux each thread has its own. */
export function nicenessOfThreads(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
  });
}

export function environmentOfProcess(pid: number): string {
  return readFileSync(`/proc/${pid}/environ`, 'utf8');
}
