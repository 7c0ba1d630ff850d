import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { noFaults } from '../../../src/platform/faults';
import type { LaneDatabase } from '../../../src/platform/database/lane-database';
import { StatementTimedOutError, isConnectionLoss, sqlStateOf } from '../../../src/platform/database/driver-errors';
import type { LaneFaults } from '../../../src/platform/faults';
import { PaymentError } from '../../../src/shared/problem';
import { until } from './until';
import { type PlatformDatabase, openPlatformDatabase } from './platform-database';

const one = { name: 'one', text: 'select 1 as one' };
const sleep = { name: 'sleep', text: 'select pg_sleep($1)' };
const backend = { name: 'backend', text: 'select pg_backend_pid() as pid' };

function codeOf(error: unknown): string {
  return error instanceof PaymentError ? error.code : String(error);
}

describe('a lane’s database', () => {
  let platform: PlatformDatabase;
  const opened: LaneDatabase[] = [];

  beforeAll(async () => {
    platform = await openPlatformDatabase();
  }, 60_000);

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close(100)));
  });

  afterAll(() => platform.close());

  async function open(overrides: Parameters<PlatformDatabase['lane']>[0] = {}): Promise<LaneDatabase> {
    const database = platform.lane(overrides);
    opened.push(database);
    await database.open();
    return database;
  }

  it('has all its connections open before it is ready, and keeps them', async () => {
    const database = await open({ connections: 12 });
    expect(database.view()).toMatchObject({ size: 12, open: 12, idle: 12, busy: 0, waiting: 0 });
    await Promise.all(Array.from({ length: 40 }, () => database.query(one, [])));
    expect(database.view()).toMatchObject({ open: 12, idle: 12, busy: 0, waiting: 0 });
    expect(await platform.backends(database)).toBe(12);
  });

  it('refuses a caller that got no connection within the wait limit, and loses none by it (knex#1694)', async () => {
    const database = await open({ connections: 2, connectionWaitMsMax: 50 });
    const held = [database.query(sleep, [0.3]), database.query(sleep, [0.3])];
    await until(() => database.view().busy === 2);
    const startedMs = performance.now();
    const refused = await Promise.allSettled(Array.from({ length: 20 }, () => database.query(one, [])));
    expect(performance.now() - startedMs).toBeLessThan(250);
    for (const outcome of refused) {
      expect(outcome.status).toBe('rejected');
      expect(codeOf((outcome as PromiseRejectedResult).reason)).toBe('ERR_DATABASE_POOL_EXHAUSTED');
    }
    expect(database.view().waiting).toBe(0);
    await Promise.all(held);
    expect(database.view()).toMatchObject({ open: 2, idle: 2, waiting: 0 });
    await Promise.all([database.query(one, []), database.query(one, [])]);
  });

  it('serves waiters first come, first served', async () => {
    const database = await open({ connections: 1, connectionWaitMsMax: 2_000 });
    const order: number[] = [];
    const held = database.query(sleep, [0.05]);
    await until(() => database.view().busy === 1);
    await Promise.all([held, ...[0, 1, 2, 3].map((turn) => database.query(one, []).then(() => order.push(turn)))]);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('has the server stop a statement, frees its backend and keeps the connection', async () => {
    const database = await open({ connections: 1, executionMsMax: 700 });
    const error = await database.query(sleep, [5]).catch((thrown: unknown) => thrown);
    expect(sqlStateOf(error)).toBe('57014');
    expect(isConnectionLoss(error)).toBe(false);
    await until(async () => (await platform.activeBackends(database)) === 0, 1_000);
    await database.query(one, []);
    expect(database.view()).toMatchObject({ open: 1, idle: 1 });
  });

  it('does not hand a broken connection to the next caller (node-postgres#3399)', async () => {
    const database = await open({ connections: 1, connectionWaitMsMax: 2_000 });
    const running = database.query(sleep, [5]).catch((thrown: unknown) => thrown);
    await until(async () => (await platform.activeBackends(database)) === 1);
    await platform.terminateBackends(database);
    const error = await running;
    expect(isConnectionLoss(error)).toBe(true);
    await expect(database.query(one, [])).resolves.toEqual([{ one: 1 }]);
  });

  it('refills itself when the server ends idle connections', async () => {
    const database = await open({ connections: 5 });
    const before = await platform.backendPids(database);
    await platform.terminateBackends(database);
    await until(async () => {
      const now = await platform.backendPids(database);
      return now.length === 5 && !now.some((pid) => before.includes(pid)) && database.view().idle === 5;
    });
    expect(database.view()).toMatchObject({ open: 5, idle: 5 });
    await database.query(one, []);
  });

  it('rolls back what fails, and hands on no open transaction', async () => {
    const database = await open({ connections: 1 });
    await expect(
      database.transaction(async (connection) => {
        await connection.query({ name: 'mark', text: 'create temporary table mark (id int) on commit drop' }, []);
        throw new Error('the caller’s own');
      }),
    ).rejects.toThrow('the caller’s own');
    expect(await database.query({ name: 'in_tx', text: `select to_regclass('mark') is null as gone` }, [])).toEqual([
      { gone: true },
    ]);
    const [before] = await database.query<{ pid: number }>(backend, []);
    await database.query({ name: 'stray', text: 'begin' }, []);
    await until(() => database.view().idle === 1);
    const [after] = await database.query<{ pid: number }>(backend, []);
    expect(after?.pid).not.toBe(before?.pid);
  });

  it('does not take a COMMIT for one where the server rolled back', async () => {
    const database = await open({ connections: 1 });
    const work = database.transaction(async (connection) => {
      await connection.query({ name: 'bad', text: 'select 1 / 0' }, []).catch(() => {});
      return 'committed';
    });
    await expect(work).rejects.toThrow(/rolled back/);
  });

  it('refuses a statement that comes after its transaction', async () => {
    const database = await open({ connections: 1 });
    const late = await database.transaction(async (connection) => connection);
    await expect(late.query(one, [])).rejects.toThrow(/after its transaction/);
  });

  it('reports a connection held too long once, with its taker’s stack [DEC-BH-01]', async () => {
    const held: { heldMs: number; takenBy: string }[] = [];
    const database = await open({
      connections: 1,
      heldMsMax: 100,
      observer: { onHeldTooLong: (heldMs, takenBy) => held.push({ heldMs, takenBy }) },
    });
    async function forgetfulRepository(): Promise<void> {
      await database.query(sleep, [0.4]);
    }
    await database.query(sleep, [0.05]);
    await forgetfulRepository();
    expect(held).toHaveLength(1);
    expect(held[0]?.heldMs).toBeGreaterThanOrEqual(100);
    expect(held[0]?.takenBy).toContain('forgetfulRepository');
    expect(held[0]?.takenBy).not.toContain('LaneDatabase');
  });

  it('judges the server without waiting for a slot', async () => {
    const database = await open({ connections: 1, connectionWaitMsMax: 100 });
    expect(await database.health()).toMatchObject({ status: 'up' });
    const held = database.query(sleep, [3]);
    await until(() => database.view().busy === 1);
    const before = await platform.connectionsOpened();
    await delay(2_100);
    const startedMs = performance.now();
    expect(await database.health()).toMatchObject({ status: 'up' });
    expect(performance.now() - startedMs).toBeLessThan(100);
    expect(await platform.connectionsOpened()).toBe(before);
    await held;
  });

  it('holds its connection while the database is stalled by a fault, and works on when that is lifted', async () => {
    let faults: LaneFaults = { ...noFaults, database: 'stalled' };
    const database = await open({ connections: 1, connectionWaitMsMax: 50, faults: () => faults });
    const stalled = database.query(one, []);
    await until(() => database.view().busy === 1);
    await expect(database.query(one, [])).rejects.toMatchObject({ code: 'ERR_DATABASE_POOL_EXHAUSTED' });
    faults = noFaults;
    await expect(stalled).resolves.toEqual([{ one: 1 }]);
  });

  it('gives up a stalled statement at its limit and destroys the connection', async () => {
    let faults: LaneFaults = { ...noFaults, database: 'stalled' };
    const database = await open({ connections: 1, executionMsMax: 600, faults: () => faults });
    await expect(database.query(one, [])).rejects.toBeInstanceOf(StatementTimedOutError);
    faults = noFaults;
    await until(() => database.view().idle === 1);
    await database.query(one, []);
  });

  it('prepares its statements on every connection, those opened later included', async () => {
    const database = await open({ connections: 3 });
    await database.prepareAll([one, backend]);
    expect(await platform.preparedStatements(database, 3)).toEqual([2, 2, 2]);
    const before = await platform.backendPids(database);
    await platform.terminateBackends(database);
    await until(async () => {
      const now = await platform.backendPids(database);
      return now.length === 3 && !now.some((pid) => before.includes(pid)) && database.view().idle === 3;
    });
    expect(await platform.preparedStatements(database, 3)).toEqual([2, 2, 2]);
  });

  it('replaces its connections one by one [MC-RT-01]', async () => {
    const database = await open({ connections: 3 });
    const before = await platform.backendPids(database);
    const held = database.query(sleep, [0.2]);
    await until(() => database.view().busy === 1);
    await database.replaceConnections();
    await held;
    await until(() => database.view().idle === 3);
    const after = await platform.backendPids(database);
    expect(after).toHaveLength(3);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  });

  it('waits for room where the role is at its connection limit (53300)', async () => {
    const role = await platform.limitedRole(3);
    const predecessor = new Pool({ connectionString: role.url, max: 3 });
    const lingering = await Promise.all([predecessor.connect(), predecessor.connect(), predecessor.connect()]);
    const failures: Error[] = [];
    const database = platform.lane({
      url: role.url,
      connections: 3,
      observer: { onOpenFailed: (error) => failures.push(error) },
    });
    opened.push(database);
    const opening = database.open();
    await until(() => failures.length > 0);
    expect(sqlStateOf(failures[0])).toBe('53300');
    for (const client of lingering) client.release(true);
    await opening;
    expect(database.view()).toMatchObject({ open: 3, idle: 3 });
    await predecessor.end();
  });

  it('says at once, with the cause, that the server cannot be reached', async () => {
    const database = platform.lane({ url: 'postgres://nobody@127.0.0.1:1/none', connections: 2 });
    opened.push(database);
    await expect(database.open(300)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const startedMs = performance.now();
    const error = await database.query(one, []).catch((thrown: unknown) => thrown as PaymentError);
    expect(error).toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE', cause: { code: 'ECONNREFUSED' } });
    expect(performance.now() - startedMs).toBeLessThan(50);
    expect(await database.health()).toMatchObject({ status: 'down' });
  });

  it('closes after the held connections are back, and not later than its limit', async () => {
    const database = await open({ connections: 2 });
    const quick = database.query(sleep, [0.1]);
    const endless = database.query(sleep, [8]).catch((thrown: unknown) => thrown);
    await until(() => database.view().busy === 2);
    const startedMs = performance.now();
    await database.close(500);
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    await expect(quick).resolves.toBeDefined();
    expect(isConnectionLoss(await endless)).toBe(true);
    await expect(database.query(one, [])).rejects.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
  });
});
