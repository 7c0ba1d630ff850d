import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead } from '../../../bulkhead/bulkhead';
import type { DueEstimate } from '../estimates/estimate.repository';
import { ProviderFailure, type FailureReason } from '../provider/provider-failure';
import type { Quote } from '../tax';
import { Reconciler } from './reconciler';

const limits = {
  concurrency: 2,
  pollEveryMs: 10_000,
  leaseMs: 30_000,
  backOffMs: 1_000,
  backOffMsMax: 8_000,
  refusedMs: 500,
  attemptsMax: 3,
};
const quote: Quote = { taxMinor: 7, rate: '0.07', shippingTaxMinor: 0, lines: [], jurisdiction: 'DE' };
type Outcome = 'ok' | FailureReason;

/** A lane of 15 permits, so many estimates that are due, and a provider that answers as it is told. */
function harness(due: number, isProviderWell = () => true) {
  const clock = new FakeClock();
  const waiting = Array.from({ length: due }, (_, n) => ({ id: `e${n}`, attempts: 0 }));
  const calls: { id: string; at: number; answer: (outcome: Outcome) => Promise<void> }[] = [];
  const log: string[] = [];
  const bulkhead = new Bulkhead(
    {
      name: 'tax',
      permits: 15,
      queueMax: 0,
      queueWaitMsMax: 0,
      executionMsMax: 60_000,
      background: { permitsMax: 2, inUseMax: 7 },
    },
    clock,
  );
  const reconciler = new Reconciler({
    estimates: {
      takeDue: () => {
        const next = waiting.shift();
        if (next === undefined) return Promise.resolve(null);
        next.attempts += 1;
        const { id, attempts } = next;
        return Promise.resolve({ id, attempts, request: { id } as never, taxMinor: 5, jurisdiction: 'DE' });
      },
      settle: (id) => {
        log.push(`settled ${id}`);
        return Promise.resolve(true);
      },
      postpone: (id, reason, delayMs, counts) => {
        log.push(`postponed ${id} ${reason} ${delayMs} ${counts}`);
        return Promise.resolve();
      },
      fail: (id, reason) => {
        log.push(`failed ${id} ${reason}`);
        return Promise.resolve();
      },
    },
    provider: {
      quote: (request) => {
        const { promise, resolve, reject } = Promise.withResolvers<Quote>();
        calls.push({
          id: (request as unknown as DueEstimate).id,
          at: clock.now(),
          answer: async (outcome) => {
            if (outcome === 'ok') resolve(quote);
            else reject(new ProviderFailure(outcome, outcome));
            await settle();
          },
        });
        return promise;
      },
    },
    isProviderWell,
    bulkhead,
    clock,
    limits,
    onReconciled: (estimate, { taxMinor }) => log.push(`reconciled ${estimate.id} ${taxMinor - estimate.taxMinor}`),
    onGivenUp: ({ id }) => log.push(`given up ${id}`),
    onFailed: (error) => log.push(`error ${String(error)}`),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn += 1) await Promise.resolve();
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  return { clock, waiting, calls, log, bulkhead, reconciler, pass };
}

it('calls for two at a time, one order after the other, until there is none', async () => {
  const { calls, log, reconciler, pass, bulkhead } = harness(5);
  reconciler.start();
  await pass(0);
  expect([calls.length, bulkhead.snapshot().background]).toEqual([2, 2]);
  for (let n = 0; n < 5; n += 1) await calls[n]?.answer('ok');
  expect(log.filter((line) => line.startsWith('reconciled'))).toEqual(
    Array.from({ length: 5 }, (_, n) => `reconciled e${n} 2`),
  );
  expect(bulkhead.snapshot().inUse).toBe(0);
});

it('takes no permit from half of them in use, and asks again when the lane may be quieter', async () => {
  const { calls, reconciler, pass, bulkhead } = harness(1);
  // 7 of 15 is below half; the worker's own would be the eighth.
  const held = Array.from({ length: 7 }, () => bulkhead.tryAcquire());
  reconciler.start();
  await pass(0);
  await pass(400);
  expect(calls).toHaveLength(0);
  const [first] = held;
  if (typeof first === 'object') first.release();
  await pass(100);
  expect(calls).toHaveLength(1);
});

it('leaves a lane that recovers to its callers, until it is normal again', async () => {
  const { clock, calls, reconciler, pass, bulkhead } = harness(1);
  const held = Array.from({ length: 15 }, () => bulkhead.tryAcquire());
  for (const permit of held) if (typeof permit === 'object') permit.release();
  expect(bulkhead.snapshot().state).toBe('RECOVERING');
  reconciler.start();
  await pass(0);
  while (clock.now() < 9_900) await pass(100);
  expect([calls.length, bulkhead.snapshot().state]).toEqual([0, 'RECOVERING']);
  for (let ms = 0; ms < 1_000; ms += 100) await pass(100);
  expect([calls.length, bulkhead.snapshot().state]).toEqual([1, 'NORMAL']);
});

it('leaves a provider in trouble alone for longer each time, whoever wakes it, and not the order to blame', async () => {
  const { calls, log, reconciler, pass, waiting } = harness(0);
  const starts: number[] = [];
  reconciler.start();
  await pass(0);
  for (let turn = 0; turn < 5; turn += 1) {
    waiting.push({ id: `x${turn}`, attempts: 0 });
    const before = calls.length;
    reconciler.wake();
    for (let ms = 0; ms < 20_000 && calls.length === before; ms += 100) await pass(100);
    starts.push(calls.at(-1)?.at ?? -1);
    reconciler.wake();
    await calls.at(-1)?.answer('unreachable');
  }
  const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  expect(gaps).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(log).toContain('postponed x0 unreachable 1000 false');
  expect(log.some((line) => line.startsWith('failed'))).toBe(false);
});

it('gives an order up that the provider refuses again and again, and goes on with the others', async () => {
  const { calls, log, reconciler, pass, waiting } = harness(0);
  waiting.push({ id: 'bad', attempts: 0 }, { id: 'good', attempts: 0 });
  reconciler.start();
  await pass(0);
  await calls[0]?.answer('refused');
  await calls[1]?.answer('ok');
  expect(log).toEqual(['postponed bad refused 2000 true', 'settled good', 'reconciled good 2']);
  waiting.push({ id: 'bad', attempts: limits.attemptsMax - 1 });
  reconciler.wake();
  await pass(0);
  await calls.at(-1)?.answer('refused');
  expect(log.slice(-2)).toEqual(['failed bad refused', 'given up bad']);
});

it('blames no order while the provider answers nobody rightly, and leaves it alone instead', async () => {
  let well = true;
  const { calls, log, reconciler, pass, waiting } = harness(0, () => well);
  waiting.push({ id: 'order', attempts: limits.attemptsMax - 1 });
  reconciler.start();
  await pass(0);
  // Its own failure was the one that told.
  well = false;
  await calls[0]?.answer('wrong');
  expect(log).toEqual(['postponed order wrong 1000 false']);
  waiting.push({ id: 'order', attempts: limits.attemptsMax - 1 });
  reconciler.wake();
  await pass(limits.backOffMs - 100);
  expect(calls).toHaveLength(1);
  await pass(100);
  well = true;
  await calls[1]?.answer('wrong');
  expect(log.slice(-2)).toEqual(['failed order wrong', 'given up order']);
});

it('finds by itself what nobody told it of', async () => {
  const { calls, reconciler, pass, waiting } = harness(0);
  reconciler.start();
  await pass(0);
  waiting.push({ id: 'late', attempts: 0 });
  await pass(limits.pollEveryMs - 1);
  expect(calls).toHaveLength(0);
  await pass(1);
  expect(calls).toHaveLength(1);
});

it('told to stop, begins nothing more and waits for what runs', async () => {
  const { calls, log, reconciler, pass } = harness(3);
  reconciler.start();
  await pass(0);
  let stopped = false;
  const stop = reconciler.stop().then(() => (stopped = true));
  await pass(0);
  expect(stopped).toBe(false);
  await calls[0]?.answer('ok');
  await calls[1]?.answer('ok');
  await stop;
  expect([calls.length, log.filter((line) => line.startsWith('settled')).length]).toEqual([2, 2]);
});
