import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import { LagWatch } from './lag-watch';
import { OutboxRelay } from './outbox-relay';
import type { LeasedEvent, OutboxStore } from './outbox.repository';

function event(n: number): LeasedEvent {
  return {
    rowId: `row ${n}`,
    event: {
      event_id: `cap_${n}`,
      type: 'SALE',
      merchant_id: 'm',
      account_id: 'a',
      amount_minor: n,
      currency: 'USD',
      occurred_at: '2026-01-01T00:00:00.000Z',
    },
  };
}

/** A relay on an outbox of so many rows and a queue that takes so many. */
function harness(rows: number, room: number) {
  const clock = new FakeClock();
  const steps: string[] = [];
  const waiting = Array.from({ length: rows }, (_, n) => event(n));
  const leased: LeasedEvent[] = [];
  const added: string[] = [];
  let most = 0;
  let atOnce = 0;
  const store: OutboxStore = {
    lease: (batchMax) => {
      leased.push(...waiting.splice(0, batchMax));
      steps.push(`lease ${leased.length}`);
      return Promise.resolve([...leased]);
    },
    markPublished: (ids) => {
      steps.push(`mark ${ids.length}`);
      for (const id of ids)
        leased.splice(
          leased.findIndex(({ rowId }) => rowId === id),
          1,
        );
      return Promise.resolve();
    },
    release: (ids) => {
      steps.push(`release ${ids.length}`);
      waiting.unshift(...leased.splice(0));
      return Promise.resolve();
    },
    oldestUnpublishedMs: () => Promise.resolve(waiting.length > 0 ? 5 : null),
    purge: () => Promise.resolve(0),
  };
  const failures: unknown[] = [];
  const bulkhead = new Bulkhead(
    {
      name: 'b',
      permits: 10,
      queueMax: 0,
      queueWaitMsMax: 0,
      executionMsMax: 10_000,
      background: { permitsMax: 1, inUseMax: 6 },
    },
    clock,
  );
  const relay = new OutboxRelay({
    store,
    queue: {
      enqueue: async (_, { event_id }, { jobId }) => {
        expect(jobId).toBe(event_id);
        most = Math.max(most, (atOnce += 1));
        await Promise.resolve();
        atOnce -= 1;
        if (added.length >= room) throw new Error('full');
        added.push(event_id);
      },
    },
    bulkhead,
    clock,
    lag: new LagWatch({ clock, lagMsMax: 60_000, alerts: { raise: () => undefined, clear: () => undefined } }),
    pollEveryMs: 1_000,
    batchMax: 100,
    leaseMs: 2_000,
    onPublished: () => undefined,
    onFailed: (error) => failures.push(error),
  });
  return { relay, steps, added, failures, bulkhead, most: () => most, waiting };
}

it('leases, publishes, then marks; a full batch is followed by another', async () => {
  const { relay, steps, added, most } = harness(130, Infinity);
  expect(await relay.relay()).toBe('more');
  expect(await relay.relay()).toBe('idle');
  expect(steps).toEqual(['lease 100', 'mark 100', 'lease 30', 'mark 30']);
  expect(new Set(added).size).toBe(130);
  expect(most()).toBeLessThanOrEqual(25);
});

it('asks a queue that is away once a batch, not once a row, and gives all of it back', async () => {
  const { relay, steps, added, failures, waiting } = harness(100, 0);
  expect(await relay.relay()).toBe('blocked');
  expect(steps).toEqual(['lease 100', 'release 100']);
  expect([added.length, failures.length, waiting.length]).toEqual([0, 1, 100]);
});

it('marks what a queue took before it was full, and keeps the rest in the outbox', async () => {
  const { relay, steps, added, waiting } = harness(100, 30);
  expect(await relay.relay()).toBe('blocked');
  expect(steps).toEqual(['lease 100', 'mark 30', 'release 70']);
  expect([added.length, waiting.length]).toEqual([30, 70]);
});

it('takes no permit from the lane’s callers', async () => {
  const { relay, bulkhead, steps } = harness(1, 1);
  const callers = Array.from({ length: 6 }, () => bulkhead.enter(() => new Promise(() => undefined)));
  await expect(relay.relay()).rejects.toMatchObject({ reason: 'full' });
  expect([callers.length, steps]).toEqual([6, []]);
});
