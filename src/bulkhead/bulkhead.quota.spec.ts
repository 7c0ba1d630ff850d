import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead, BulkheadRefusedError } from './bulkhead';
import type { BulkheadLimits, Entry } from './bulkhead';

const LANES = [
  { name: 'bulkhead_card_auth', permits: 75, queueMax: 10 },
  { name: 'bulkhead_fraud_eval', permits: 30, queueMax: 5 },
  { name: 'bulkhead_tax_calc', permits: 15, queueMax: 0 },
];

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));

function limitsOf(lane: Pick<BulkheadLimits, 'name' | 'permits' | 'queueMax'>): BulkheadLimits {
  return { ...lane, queueWaitMsMax: 100, executionMsMax: 10_000, background: null };
}

/** Enters so many works that never end; returns the entries and how many of the works have begun. */
function enterHanging(bulkhead: Bulkhead, count: number): { entries: Entry<never>[]; begun: () => number } {
  let begun = 0;
  const work = () => {
    begun += 1;
    return new Promise<never>(() => {});
  };
  const entries = Array.from({ length: count }, () => bulkhead.enter(work));
  for (const entry of entries) entry.result.catch(() => {});
  return { entries, begun: () => begun };
}

describe.each(LANES)('test_bulkhead_quota_enforcement [MC-PO-01] $name', (lane) => {
  const { permits, queueMax } = lane;

  it.each([
    [permits - 1, permits - 1, 0],
    [permits, permits, 0],
    [permits + 1, permits, Math.min(queueMax, 1)],
    [permits + queueMax, permits, queueMax],
    [permits + queueMax + 1, permits, queueMax],
    [1_000, permits, queueMax],
  ])('of %i at once runs %i and queues %i', (count, inUse, queued) => {
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock());
    const { begun } = enterHanging(bulkhead, count);
    expect({ ...bulkhead.snapshot(), begun: begun() }).toMatchObject({ inUse, queued, begun: inUse });
  });

  it('refuses the first one beyond permits and queue as full, in the same tick', async () => {
    const reasons: string[] = [];
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock(), { onRefused: (reason) => reasons.push(reason) });
    const { entries } = enterHanging(bulkhead, permits + queueMax + 1);
    const refusedAtOnce = [...reasons];
    await expect(entries.at(-1)?.result).rejects.toMatchObject({ reason: 'full', bulkhead: lane.name });
    expect(refusedAtOnce).toEqual(['full']);
  });

  it('hands out exactly its permits to those who do not queue', () => {
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock());
    const taken = Array.from({ length: permits + 1 }, () => bulkhead.tryAcquire());
    expect([taken.filter((one) => typeof one === 'object').length, taken.at(-1)]).toEqual([permits, 'full']);
  });

  // Sentinel#628: check, then an await, then act, let more in than the limit.
  it('never has more works running than permits, however many come at once', async () => {
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock());
    let running = 0;
    let peak = 0;
    const work = async () => {
      peak = Math.max(peak, (running += 1));
      await flush();
      running -= 1;
    };
    const results = Array.from({ length: 1_000 }, () => bulkhead.enter(work).result);
    await Promise.allSettled(results);
    expect([peak, running, bulkhead.snapshot().inUse]).toEqual([permits, 0, 0]);
  });

  // spring-cloud-circuitbreaker#102: the work began before the permit was there.
  it('has begun nothing of what it refuses', () => {
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock());
    enterHanging(bulkhead, permits + queueMax);
    const refused = enterHanging(bulkhead, 50);
    expect(refused.begun()).toBe(0);
  });

  it('is whole again when everything has ended', async () => {
    const bulkhead = new Bulkhead(limitsOf(lane), new FakeClock());
    const works = Array.from({ length: permits + queueMax }, () => bulkhead.enter(flush).result);
    await Promise.all(works);
    expect(enterHanging(bulkhead, permits + 1).begun()).toBe(permits);
  });
});

describe('a refusal', () => {
  it('carries no stack, because a full lane makes thousands a second', () => {
    expect(new BulkheadRefusedError('bulkhead_tax_calc', 'full').stack).not.toContain('\n    at ');
  });

  it('leaves the stacks of other errors as they were', () => {
    const before = Error.stackTraceLimit;
    new BulkheadRefusedError('bulkhead_tax_calc', 'full');
    expect(Error.stackTraceLimit).toBe(before);
  });
});

describe('the limits of a bulkhead', () => {
  const right = limitsOf({ name: 'bulkhead_tax_calc', permits: 15, queueMax: 0 });

  it.each<[string, Partial<BulkheadLimits>]>([
    ['permits is 0', { permits: 0 }],
    ['permits is 1.5', { permits: 1.5 }],
    ['queueMax is -1', { queueMax: -1 }],
    ['queueWaitMsMax is NaN', { queueWaitMsMax: NaN }],
    ['executionMsMax is Infinity', { executionMsMax: Infinity }],
    ['background.permitsMax is -1', { background: { permitsMax: -1, inUseMax: 1 } }],
    ['background.inUseMax is 16', { background: { permitsMax: 1, inUseMax: 16 } }],
  ])('are refused when %s', (fault, wrong) => {
    expect(() => new Bulkhead({ ...right, ...wrong }, new FakeClock())).toThrow(`bulkhead_tax_calc: ${fault}`);
  });
});
