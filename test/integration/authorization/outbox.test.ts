import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { Bulkhead } from '../../../src/bulkhead/bulkhead';
import { LagWatch } from '../../../src/lanes/authorization/outbox/lag-watch';
import { OutboxPurge } from '../../../src/lanes/authorization/outbox/outbox-purge';
import { OutboxRelay } from '../../../src/lanes/authorization/outbox/outbox-relay';
import type { OutboxStore } from '../../../src/lanes/authorization/outbox/outbox.repository';
import type { SettlementEvent } from '../../../src/lanes/authorization/outbox/settlement-event';
import { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { systemClock } from '../../../src/platform/system-clock';
import { addCards, addMerchants, tryOnce } from '../../fixtures/authorization-lane';
import { addAccounts, type MovesProcess, openMovesProcess, tryMove } from '../../fixtures/authorization-moves';
import { atEndOfFile } from '../../support/closers';
import { eventually } from '../../support/http';
import { startOwnRedis, type TestRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: MovesProcess;
let redis: TestRedis;
let names = 0;

beforeAll(async () => {
  // A queue without its Redis says so each time it tries; here that is most of the time.
  Logger.overrideLogger(false);
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addAccounts(owner, 'USD', 'mer_a');
  await addCards(owner, { token: 'card', limitMinor: 1_000_000 });
  lane = await openMovesProcess(test);
  redis = await startOwnRedis({ durable: true });
});

beforeEach(async () => {
  await owner.query(`TRUNCATE outbox`);
});

/** Makes captures; @returns their row ids. */
async function captures(count: number): Promise<string[]> {
  const { authorization } = await tryOnce(lane.committer, `outbox ${(names += 1)}`, {
    merchantId: 'mer_a',
    cardToken: 'card',
    amountMinor: count,
    currency: 'USD',
  });
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { record } = await tryMove(lane.runner, { kind: 'capture', target: authorization?.rowId ?? '', amount: 1 });
    ids.push(record?.rowId ?? '');
  }
  return ids;
}

interface RelayProcess {
  readonly relay: OutboxRelay;
  readonly queue: LaneQueue<SettlementEvent>;
  readonly alerts: string[];
}

interface RelayOptions {
  readonly name?: string;
  readonly waitingMax?: number;
  readonly lagMsMax?: number;
  readonly leaseMs?: number;
  readonly storeOf?: (store: OutboxStore) => OutboxStore;
}

/** What one process has to relay with; the queue is a fresh one unless it is named. */
async function openRelay(options: RelayOptions = {}): Promise<RelayProcess> {
  const connection = new ProducerRedis(redis.url);
  const queue = new LaneQueue<SettlementEvent>(options.name ?? `settlement-${randomUUID()}`, {
    connection,
    prefix: 'payment-core:test',
    waitingMax: options.waitingMax ?? 100_000,
  });
  const alerts: string[] = [];
  const relay = new OutboxRelay({
    store: options.storeOf?.(lane.outbox) ?? lane.outbox,
    queue,
    bulkhead: new Bulkhead(
      {
        name: 'b',
        permits: 75,
        queueMax: 10,
        queueWaitMsMax: 100,
        executionMsMax: 10_000,
        background: { permitsMax: 4, inUseMax: 45 },
      },
      systemClock,
    ),
    clock: systemClock,
    lag: new LagWatch({
      clock: systemClock,
      lagMsMax: options.lagMsMax ?? 60_000,
      alerts: { raise: (alert) => alerts.push(`raise ${alert}`), clear: (alert) => alerts.push(`clear ${alert}`) },
    }),
    pollEveryMs: 1_000,
    batchMax: 100,
    leaseMs: options.leaseMs ?? 300,
    onPublished: () => undefined,
    onFailed: () => undefined,
  });
  atEndOfFile(async () => {
    await relay.stop();
    await queue.close();
    connection.disconnect();
  });
  await eventually('Redis is connected', () => Promise.resolve(connection.usable));
  return { relay, queue, alerts };
}

async function jobsOf({ queue }: RelayProcess): Promise<string[]> {
  return (await queue.getJobs(['wait', 'delayed', 'completed'])).map(({ id }) => id ?? '');
}

async function unpublished(): Promise<number> {
  const { rows } = await owner.query<{ count: string }>(`SELECT count(*) FROM outbox WHERE published_at IS NULL`);
  return Number(rows[0]?.count);
}

it('publishes each event once, under its own id, with what the ledger needs and no card', async () => {
  const ids = await captures(130);
  const process = await openRelay();
  expect(await process.relay.relay()).toBe('more');
  expect(await process.relay.relay()).toBe('idle');
  const jobs = await process.queue.getJobs(['wait']);
  expect(jobs).toHaveLength(ids.length);
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(ids.length);
  for (const job of jobs) {
    expect(job.data).toEqual({
      event_id: job.id,
      type: 'SALE',
      merchant_id: 'mer_a',
      account_id: 'ACC-mer_a',
      amount_minor: 1,
      currency: 'USD',
      occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(job.id).toMatch(/^cap_[0-9A-Z]{26}$/);
  }
  expect(await unpublished()).toBe(0);
});

it('is woken by a move, and publishes within a second', async () => {
  const process = await openRelay();
  process.relay.start();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await captures(1);
  const committedAt = performance.now();
  process.relay.wake();
  await eventually('the event is in the queue', async () => (await jobsOf(process)).length === 1, 2_000);
  expect(performance.now() - committedAt).toBeLessThan(1_000);
  await process.relay.stop();
});

it('several relays share the rows: each event is added once', async () => {
  const ids = await captures(90);
  const name = `settlement-${randomUUID()}`;
  const processes = await Promise.all([1, 2, 3].map(() => openRelay({ name, leaseMs: 5_000 })));
  await Promise.all(processes.map(({ relay }) => relay.relay()));
  await Promise.all(processes.map(({ relay }) => relay.relay()));
  expect(await jobsOf(processes[0] as RelayProcess)).toHaveLength(ids.length);
  const { rows } = await owner.query<{ attempts: number }>(`SELECT DISTINCT attempts FROM outbox`);
  expect(rows).toEqual([{ attempts: 1 }]);
});

describe('a relay that dies', () => {
  it.each<[string, (store: OutboxStore, die: () => never) => OutboxStore, number]>([
    [
      'after it took the rows, before it published any',
      (store, die) => ({ ...bound(store), lease: (max, ms) => store.lease(max, ms).then(die) }),
      0,
    ],
    [
      'after it published, before it marked: the second time under the same ids',
      (store, die) => ({ ...bound(store), markPublished: () => Promise.resolve().then(die) }),
      20,
    ],
  ])('%s, loses nothing: another one publishes it when the lease is over', async (_, storeOf, published) => {
    const ids = await captures(20);
    const name = `settlement-${randomUUID()}`;
    const die = (): never => {
      throw new Error('killed');
    };
    const dying = await openRelay({ name, storeOf: (store) => storeOf(store, die) });
    await expect(dying.relay.relay()).rejects.toThrow('killed');
    expect(await jobsOf(dying)).toHaveLength(published);
    expect(await unpublished()).toBe(20);
    const next = await openRelay({ name });
    // The rows are leased still.
    expect(await next.relay.relay()).toBe('idle');
    expect(await unpublished()).toBe(20);
    await new Promise((resolve) => setTimeout(resolve, 350));
    await next.relay.relay();
    expect(await unpublished()).toBe(0);
    expect((await jobsOf(next)).length).toBe(ids.length);
  });
});

function bound(store: OutboxStore): OutboxStore {
  return {
    lease: (max, ms) => store.lease(max, ms),
    markPublished: (ids) => store.markPublished(ids),
    release: (ids) => store.release(ids),
    oldestUnpublishedMs: () => store.oldestUnpublishedMs(),
    purge: (hours, max) => store.purge(hours, max),
  };
}

it('at the queue’s bound it pauses, keeps the rows, alerts, and goes on when there is room', async () => {
  await captures(90);
  const process = await openRelay({ waitingMax: 40, lagMsMax: 200 });
  expect(await process.relay.relay()).toBe('blocked');
  // 25 at a time are added, so the bound is exceeded by fewer than those.
  expect((await jobsOf(process)).length).toBeLessThan(40 + 25);
  const left = await unpublished();
  expect(left).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await process.relay.relay()).toBe('blocked');
  expect(await process.relay.relay()).toBe('blocked');
  expect(process.alerts).toEqual(['raise ALERT_OUTBOX_LAG']);
  expect(await unpublished()).toBe(left);
  await process.queue.drain();
  await process.relay.relay();
  expect(await unpublished()).toBe(0);
  expect(process.alerts).toEqual(['raise ALERT_OUTBOX_LAG', 'clear ALERT_OUTBOX_LAG']);
});

it.each(['killed', 'frozen'] as const)(
  'with Redis %s captures succeed, and the relay catches up after',
  async (how) => {
    const process = await openRelay();
    process.relay.start();
    if (how === 'killed') await redis.kill();
    else redis.freeze();
    const startedAt = performance.now();
    const ids = await captures(30);
    expect(ids.filter((id) => id !== '')).toHaveLength(30);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await unpublished()).toBe(30);
    if (how === 'killed') await redis.restart();
    else redis.thaw();
    await eventually('everything is published', async () => (await unpublished()) === 0, 8_000);
    expect(new Set(await jobsOf(process)).size).toBe(30);
    await process.relay.stop();
  },
);

it('published rows go after their time, a batch at a time; unpublished ones stay whatever their age', async () => {
  await captures(30);
  await owner.query(`UPDATE outbox SET occurred_at = now() - interval '30 days'`);
  await owner.query(`
    UPDATE outbox SET published_at = now() - interval '7 hours' WHERE event_id IN (SELECT event_id FROM outbox LIMIT 25)`);
  const purge = new OutboxPurge({
    store: lane.outbox,
    bulkhead: { enterBackground: (work) => ({ result: Promise.resolve(work({} as never)), abandon: () => undefined }) },
    clock: systemClock,
    keepHours: 6,
    batchMax: 10,
    everyMs: 1_000,
    onFailed: () => undefined,
  });
  expect([await purge.purge(), await purge.purge(), await purge.purge()]).toEqual(['more', 'more', 'idle']);
  const { rows } = await owner.query<{ count: string }>(`SELECT count(*) FROM outbox`);
  expect([Number(rows[0]?.count), await unpublished()]).toEqual([5, 5]);
});
