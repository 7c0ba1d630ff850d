import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../../scripts/setup/os/processes';
import { withClient } from '../../../scripts/setup/postgres-client';
import { SUPERVISED_ROLES } from '../../../src/roles/supervisor/role-table';
import { eventually, send } from '../../support/http';
import { environmentOfProcess, nicenessOfThreads, Topology } from './topology';

/** From the death of a process, or from the moment it hangs, to an overview that says so. The product's own limit is half of it. */
const SHOWN_MS_MAX = 2_000;
const OVERVIEW_MS_MAX = 1_000;

let topology: Topology;

beforeAll(async () => {
  topology = await Topology.start();
  await topology.waitForReady();
}, 120_000);

describe('one process per lane and the operator’s, under a supervisor', () => {
  test('all five serve, each its own role and nothing else', async () => {
    for (const role of SUPERVISED_ROLES) {
      const { body } = await send(`${topology.urlOf(role)}/health`);
      expect(body['role']).toBe(role);
    }
    const lanes = (await topology.health()).body['lanes'];
    expect(lanes).toMatchObject({
      authorization: { status: 'ok' },
      fraud: { status: 'ok' },
      tax: { status: 'ok' },
      ledger: { status: 'ok' },
    });
    const processes = await topology.processes();
    expect(new Set(Object.values(processes).map(({ pid }) => pid)).size).toBe(5);
    expect(Object.values(processes).map(({ state }) => state)).toEqual(Array(5).fill('ready'));
    expect((await topology.authorize()).status).toBe(201);
  });

  test('each lane’s process has its own connections only, and the operator’s none [ADV-FD-01]', async () => {
    const { rows } = await withClient(topology.database.adminUrl, (client) =>
      client.query<{ usename: string; application_name: string; connections: number }>(
        `select usename, application_name, count(*)::int as connections from pg_stat_activity
          where datname = $1 and pid <> pg_backend_pid() group by 1, 2 order by 3`,
        [topology.database.name],
      ),
    );
    expect(rows).toEqual([
      { usename: 'tax_app', application_name: 'tax_ds', connections: 5 },
      { usename: 'ledger_app', application_name: 'ledger_ds', connections: 12 },
      { usename: 'fraud_app', application_name: 'fraud_ds', connections: 15 },
      { usename: 'card_auth_app', application_name: 'card_auth_ds', connections: 40 },
    ]);
    const logins = { authorization: 'card_auth_app', fraud: 'fraud_app', tax: 'tax_app', ledger: 'ledger_app' };
    for (const [role, { pid }] of Object.entries(await topology.processes())) {
      const environment = environmentOfProcess(pid ?? 0);
      const known = Object.entries(logins).filter(([, login]) => environment.includes(login));
      expect({ role, known: known.map(([lane]) => lane) }).toEqual({ role, known: role === 'operator' ? [] : [role] });
    }
  });

  test('cards come first in scheduling, with all their threads', async () => {
    const processes = Object.entries(await topology.processes());
    const worst = Object.fromEntries(processes.map(([role, { pid }]) => [role, nicenessOfThreads(pid ?? 0)]));
    const { authorization = [], ...others } = worst;
    for (const threads of Object.values(others))
      expect(Math.min(...threads)).toBeGreaterThan(Math.max(...authorization));
  });

  test('a killed tax process shows as dead, cards go on, and it is started again', async () => {
    const before = await topology.processes();
    const killed = (async () => {
      process.kill(before.tax.pid ?? 0, 'SIGKILL');
      await eventually(
        'the overview shows it',
        async () => (await topology.laneShown('tax'))?.status === 'unreachable',
        SHOWN_MS_MAX,
      );
      expect((await topology.health()).body).toMatchObject({ status: 'degraded', ready: true });
      await topology.waitForReady(['tax']);
    })();
    const statuses = await topology.authorizeDuring(killed);
    expect(new Set(statuses)).toEqual(new Set([201]));

    await eventually('it is shown again', async () => (await topology.laneShown('tax'))?.status === 'ok');
    const after = await topology.processes();
    expect(after.tax).toMatchObject({ state: 'ready', restarts: 1, last_exit: { signal: 'SIGKILL' } });
    expect(after.tax.pid).not.toBe(before.tax.pid);
    for (const role of SUPERVISED_ROLES.filter((each) => each !== 'tax')) {
      expect(after[role].pid).toBe(before[role].pid);
    }
  });

  test('a hung process shows as dead too, and the overview never waits for it', async () => {
    const pid = await topology.pidOf('fraud');
    let slowest = 0;
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually(
        'the overview shows it',
        async () => {
          const { body, elapsedMs } = await topology.health();
          slowest = Math.max(slowest, elapsedMs);
          return (body['lanes'] as Record<string, { status: string }>)['fraud']?.status === 'unreachable';
        },
        SHOWN_MS_MAX,
      );
      expect((await topology.authorize()).status).toBe(201);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect(slowest).toBeLessThan(OVERVIEW_MS_MAX);
    await eventually('it is shown again', async () => (await topology.laneShown('fraud'))?.status === 'ok');
  });

  test('a lane whose event loop stands still keeps no card waiting', async () => {
    const blockedMs = 2_000;
    expect((await topology.setFaults('fraud', { block_event_loop_ms: blockedMs })).status).toBe(200);
    await sleep(50);
    const fraud = send(`${topology.urlOf('fraud')}/health/live`);
    const statuses = await topology.authorizeDuring(sleep(blockedMs - 500));
    expect(statuses.length).toBeGreaterThan(1);
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect((await fraud).elapsedMs).toBeGreaterThan(blockedMs - 500);
  });

  test('one log stream: whole JSON lines, each with its role', () => {
    const { lines, records } = topology.supervisor;
    expect(records).toHaveLength(lines.length);
    expect(records.filter(({ role }) => typeof role !== 'string')).toEqual([]);
    const ready = records.filter(({ message }) => message === 'ready').map(({ role }) => String(role));
    expect([...new Set(ready)].sort()).toEqual([...SUPERVISED_ROLES, 'supervisor'].sort());
  });

  test('SIGTERM ends all, the operator’s process last, and leaves none', async () => {
    const children = await topology.children();
    expect(children).toHaveLength(5);
    expect(await topology.supervisor.terminate()).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    const stopped = topology.supervisor.records.filter(({ message }) => message === 'process stopped');
    expect(stopped).toHaveLength(5);
    expect(stopped.at(-1)).toMatchObject({ process: 'operator', code: 0 });
  });
});
