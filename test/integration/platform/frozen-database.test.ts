import { setTimeout as delay } from 'node:timers/promises';
import { isConnectionLoss, StatementTimedOutError } from '../../../src/platform/database/driver-errors';
import type { LaneDatabase } from '../../../src/platform/database/lane-database';
import { startOwnCluster, type TestPostgres } from '../../support/services';
import { PlatformDatabase } from './platform-database';
import { until } from './until';

const one = { name: 'one', text: 'select 1 as one' };
const backendPid = { name: 'backend_pid', text: 'select pg_backend_pid() as pid, pg_sleep(0.05)' };
const sleep = { name: 'sleep', text: 'select pg_sleep($1)' };

describe('a lane’s database whose server freezes, dies and comes back', () => {
  let postgres: TestPostgres;
  let platform: PlatformDatabase;
  let database: LaneDatabase;

  beforeEach(async () => {
    postgres = await startOwnCluster({ durable: false });
    platform = await PlatformDatabase.open(postgres.adminUrl());
    database = platform.lane({ connections: 3, executionMsMax: 900, connectionWaitMsMax: 250 });
    await database.open();
  });

  afterEach(async () => {
    postgres.thaw();
    await database.close(100);
    await platform.close().catch(() => undefined);
    await postgres.kill();
  });

  it('gives up a statement of a frozen server at its own limit and never hands that connection on', async () => {
    postgres.freeze();
    const startedMs = performance.now();
    const error = await database.query(one, []).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StatementTimedOutError);
    expect(isConnectionLoss(error)).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(900);
    postgres.thaw();
    await until(() => database.view().idle === 3, 10_000);
    expect(await database.query(one, [])).toEqual([{ one: 1 }]);
  });

  it('bounds a whole transaction, and its rollback, on a frozen server', async () => {
    const startedMs = performance.now();
    const work = database.transaction(async (connection) => {
      await connection.query(one, []);
      postgres.freeze();
      await connection.query(one, []);
    });
    await expect(work).rejects.toBeInstanceOf(StatementTimedOutError);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(database.view().busy).toBeLessThanOrEqual(1);
  });

  it('is known to be down within half a second, whether connections are idle or busy', async () => {
    expect(await database.health()).toMatchObject({ status: 'up' });
    postgres.freeze();
    const idleMs = performance.now();
    expect(await database.health()).toMatchObject({ status: 'down', detail: expect.stringContaining('no answer') });
    expect(performance.now() - idleMs).toBeLessThan(600);
    await delay(2_100);
    const busyMs = performance.now();
    expect(await database.health()).toMatchObject({ status: 'down' });
    expect(performance.now() - busyMs).toBeLessThan(600);
    postgres.thaw();
    await until(async () => (await database.health()).status === 'up', 10_000);
  });

  it('is up while every connection is busy with something long: a ping needs no login', async () => {
    const patient = platform.lane({ connections: 2, executionMsMax: 10_000 });
    await patient.open();
    const held = [patient.query(sleep, [3]), patient.query(sleep, [3])];
    await until(() => patient.view().busy === 2);
    await delay(2_100);
    const startedMs = performance.now();
    expect(await patient.health()).toMatchObject({ status: 'up' });
    expect(performance.now() - startedMs).toBeLessThan(200);
    await Promise.all(held);
    await patient.close();
  });

  it('is down while its backends hang, though the postmaster answers every ping', async () => {
    const patient = platform.lane({ connections: 2, executionMsMax: 10_000 });
    await patient.open();
    const backends = await Promise.all([patient, patient].map((lane) => lane.query<{ pid: number }>(backendPid, [])));
    const pids = new Set(backends.flat().map(({ pid }) => pid));
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    expect(await patient.health()).toMatchObject({ status: 'down' });
    for (let look = 0; look < 3; look += 1) {
      await delay(300);
      expect(await patient.health()).toMatchObject({ status: 'down' });
    }
    postgres.thaw();
    await until(async () => (await patient.health()).status === 'up', 10_000);
    await patient.close();
  });

  it('answers at once while the server is dead, and is whole again when it is back', async () => {
    await postgres.kill();
    await until(() => database.view().open === 0);
    await until(async () => (await database.query(one, []).catch(() => null)) === null);
    const startedMs = performance.now();
    await expect(database.query(one, [])).rejects.toMatchObject({ code: 'ERR_DATABASE_UNAVAILABLE' });
    expect(performance.now() - startedMs).toBeLessThan(300);
    expect(await database.health()).toMatchObject({ status: 'down' });
    await postgres.restart();
    await until(() => database.view().idle === 3, 10_000);
    expect(await database.query(one, [])).toEqual([{ one: 1 }]);
    expect(await database.health()).toMatchObject({ status: 'up' });
  });
});
