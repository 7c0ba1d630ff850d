import { FakeClock } from '../../../../test/support/fake-clock';
import { Bulkhead, BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import { BackgroundPermits } from './background-permits';

const PERMITS = 6;
/** "At most 50 % in use" of six permits, and two for workers. */
const limits = {
  name: 'bulkhead_test',
  permits: PERMITS,
  queueMax: 0,
  queueWaitMsMax: 0,
  executionMsMax: 10_000,
  background: { permitsMax: 2, inUseMax: 3 },
};

function open() {
  const clock = new FakeClock();
  const bulkhead = new Bulkhead(limits, clock);
  const permits = new BackgroundPermits(bulkhead, clock);
  const refusals: number[] = [];
  const begun: string[] = [];
  const run = (name: string, signal?: AbortSignal) => {
    const end = Promise.withResolvers<string>();
    const work = (): Promise<string> => {
      begun.push(name);
      return end.promise;
    };
    const result = permits.run(work, { signal, onRefused: () => refusals.push(clock.now()) });
    result.catch(() => undefined);
    return { result, end: () => end.resolve(name) };
  };
  /** Callers' permits, given back by hand. */
  const take = (count: number) =>
    Array.from({ length: count }, () => {
      const permit = bulkhead.tryAcquire();
      if (typeof permit === 'string') throw new Error(permit);
      return permit;
    });
  return { clock, bulkhead, run, take, refusals, begun };
}

/** Lets everything that is ready run: a refusal reaches the waiting job some microtasks later. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the wait for a background permit', () => {
  it('is none while in use, the own one included, stays at the share', async () => {
    const { run, take, begun } = open();
    take(2);
    const job = run('third');
    expect(begun).toEqual(['third']);
    job.end();
    expect(await job.result).toBe('third');
  });

  it('lasts while callers use as much as the share, and ends within 100 ms of their going', async () => {
    const { clock, bulkhead, run, take, refusals, begun } = open();
    const [first] = take(3);
    run('fourth');
    for (let passed = 0; passed < 1_000; passed += 10) {
      await settle();
      clock.advance(10);
    }
    expect(begun).toEqual([]);
    // Ten times a second in the long run, not for every 10 ms.
    expect(refusals.length).toBeLessThan(16);
    expect(refusals.length).toBeGreaterThan(9);
    first?.release();
    await settle();
    clock.advance(100);
    await settle();
    expect(begun).toEqual(['fourth']);
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 3, background: 1 });
  });

  it('holds no permit and no place in the queue', async () => {
    const { bulkhead, run, take } = open();
    take(3);
    run('waits');
    await settle();
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 3, background: 0, queued: 0 });
  });

  it('lets as many run as the lane gives its workers, and not one more', async () => {
    const { clock, run, begun } = open();
    const first = run('first');
    run('second');
    run('third');
    await settle();
    expect(begun).toEqual(['first', 'second']);
    first.end();
    await first.result;
    await settle();
    clock.advance(100);
    await settle();
    expect(begun).toEqual(['first', 'second', 'third']);
  });

  it('ends with the signal, also in a pause, and the work never begins', async () => {
    const { clock, run, take, begun } = open();
    const permits = take(3);
    const controller = new AbortController();
    const job = run('left', controller.signal);
    await settle();
    controller.abort(new Error('shutdown'));
    await expect(job.result).rejects.toThrow('shutdown');
    for (const permit of permits) permit.release();
    clock.advance(1_000);
    await settle();
    expect(begun).toEqual([]);
    expect(clock.armed).toBeLessThanOrEqual(1);
  });

  it('ends when the lane drains', async () => {
    const { bulkhead, run } = open();
    void bulkhead.drain();
    await expect(run('late').result).rejects.toMatchObject({ reason: 'draining' });
    await expect(run('late').result).rejects.toBeInstanceOf(BulkheadRefusedError);
  });
});
