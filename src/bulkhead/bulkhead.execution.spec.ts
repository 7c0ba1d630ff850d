import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead, ExecutionTimeoutError } from './bulkhead';
import type { BulkheadLimits, BulkheadObserver, Execution } from './bulkhead';

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));
const hang = () => new Promise<never>(() => {});

class Stage {
  readonly clock = new FakeClock();
  readonly told: string[] = [];
  readonly bulkhead: Bulkhead;

  constructor(limits: Partial<BulkheadLimits> = {}, observer: BulkheadObserver = {}) {
    const note = (what: string) => () => void this.told.push(what);
    this.bulkhead = new Bulkhead(
      { name: 'b', permits: 2, queueMax: 2, queueWaitMsMax: 100, executionMsMax: 1_000, background: null, ...limits },
      this.clock,
      {
        onExecutionTimeout: note('timeout'),
        onClientAbort: note('abort'),
        onZombieAlert: (zombies) => void this.told.push(`zombie ${zombies}`),
        onZombiesHalf: (zombies) => void this.told.push(`half ${zombies}`),
        ...observer,
      },
    );
  }

  /** Begins a work that ends when `end` is called; its failures are nobody's concern here. */
  begin(options: { abortWhenAbandoned?: boolean } = {}) {
    const work = Promise.withResolvers<string>();
    const executions: Execution[] = [];
    const entry = this.bulkhead.enter((execution) => {
      executions.push(execution);
      return work.promise;
    }, options);
    entry.result.catch(() => {});
    return { entry, execution: executions[0] as Execution, end: () => work.resolve('done') };
  }
}

describe('the execution limit', () => {
  it.each([
    [999, []],
    [1_000, ['timeout']],
    [1_001, ['timeout']],
  ])('of 1,000 ms has told after %i ms: %j', (ms, told) => {
    const stage = new Stage();
    stage.begin();
    stage.clock.advance(ms);
    expect(stage.told).toEqual(told);
  });

  it('counts from the grant of the permit, not from the arrival', () => {
    const stage = new Stage({ permits: 1 });
    const first = stage.bulkhead.tryAcquire();
    stage.bulkhead.enter(hang).result.catch(() => {});
    stage.clock.advance(90);
    if (typeof first === 'object') first.release();
    stage.clock.advance(999);
    const before = [...stage.told];
    stage.clock.advance(1);
    expect([before, stage.told]).toEqual([[], ['timeout']]);
  });

  it('rejects the result although the work goes on', async () => {
    const stage = new Stage();
    const { entry } = stage.begin();
    stage.clock.advance(1_000);
    await expect(entry.result).rejects.toBeInstanceOf(ExecutionTimeoutError);
  });

  it('fires the signal, the time-out being the reason', () => {
    const stage = new Stage();
    const { signal } = stage.begin().execution;
    stage.clock.advance(1_000);
    expect([signal.aborted, signal.reason instanceof ExecutionTimeoutError]).toEqual([true, true]);
  });

  it('has one signal for each execution, however often it is read', () => {
    const { execution } = new Stage().begin();
    expect(execution.signal).toBe(execution.signal);
  });

  it('gives a signal that has fired already to work that first asks after it', () => {
    const stage = new Stage();
    const { execution } = stage.begin();
    stage.clock.advance(1_000);
    expect(execution.signal.aborted).toBe(true);
  });

  // opossum#780, #861: one controller for all.
  it('fires the signal of no other execution, and the next one has a live signal', () => {
    const stage = new Stage({ permits: 3 });
    const first = stage.begin().execution;
    stage.clock.advance(500);
    const second = stage.begin().execution;
    const signals = [first.signal, second.signal];
    stage.clock.advance(500);
    signals.push(stage.begin().execution.signal);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false, false]);
  });

  // Netflix/Hystrix#1867, opossum PR 72: the permit was freed while the work ran on.
  it('keeps the permit of timed-out work, so that no third call reaches what hangs', () => {
    const stage = new Stage({ queueMax: 0 });
    stage.begin();
    stage.begin();
    stage.clock.advance(1_000);
    let reached = 0;
    for (let call = 0; call < 2; call += 1) stage.bulkhead.enter(() => (reached += 1)).result.catch(() => {});
    expect({ ...stage.bulkhead.snapshot(), reached }).toMatchObject({ inUse: 2, running: 0, zombies: 2, reached: 0 });
  });

  it('gives the permit back when the timed-out work ends', async () => {
    const stage = new Stage();
    const { end } = stage.begin();
    stage.clock.advance(1_000);
    end();
    await flush();
    expect(stage.bulkhead.snapshot()).toMatchObject({ inUse: 0, zombies: 0 });
  });

  it('is answered once when the work ends in the very tick of the deadline', async () => {
    const stage = new Stage();
    const { entry, end } = stage.begin();
    end();
    stage.clock.advance(1_000);
    await expect(entry.result).rejects.toBeInstanceOf(ExecutionTimeoutError);
    expect([stage.told, stage.bulkhead.snapshot().inUse]).toEqual([['timeout'], 0]);
  });

  it('does not touch a permit that was taken by hand', () => {
    const stage = new Stage();
    stage.bulkhead.tryAcquire();
    stage.clock.advance(100_000);
    expect(stage.bulkhead.snapshot()).toMatchObject({ inUse: 1, running: 1, zombies: 0 });
  });
});

// resilience4j#905, #1530, #2296: timed-out work that never ends, and the lane dies without a word.
describe('a zombie', () => {
  it.each([
    [30_999, []],
    [31_000, ['zombie 1']],
    [90_000, ['zombie 1']],
  ])('has raised its alert after %i ms: %j', (ms, alerts) => {
    const stage = new Stage({ permits: 3 });
    stage.begin();
    stage.clock.advance(ms);
    expect(stage.told.filter((what) => what !== 'timeout')).toEqual(alerts);
  });

  it('raises none once its work has ended', async () => {
    const stage = new Stage();
    const { end } = stage.begin();
    stage.clock.advance(30_000);
    end();
    await flush();
    stage.clock.advance(60_000);
    expect(stage.told).toEqual(['timeout']);
  });

  it.each([
    [7, false],
    [8, true],
    [9, true],
  ])('of 15 permits, %i old zombies make the lane stuck: %s', (zombies, stuck) => {
    const stage = new Stage({ permits: 15 });
    for (let zombie = 0; zombie < zombies; zombie += 1) stage.begin();
    stage.clock.advance(31_000);
    expect([stage.bulkhead.snapshot().stuck, typeof stage.bulkhead.tryAcquire()]).toEqual([
      stuck,
      stuck ? 'string' : 'object',
    ]);
  });

  it('tells of the half once in each episode', async () => {
    const stage = new Stage({ permits: 4 });
    const works = [stage.begin(), stage.begin(), stage.begin()];
    stage.clock.advance(31_000);
    works.slice(0, 2).forEach(({ end }) => end());
    await flush();
    stage.begin();
    stage.clock.advance(31_000);
    expect(stage.told.filter((what) => what.startsWith('half'))).toEqual(['half 2', 'half 2']);
  });

  it('lets the lane go on as soon as fewer than half are left', async () => {
    const stage = new Stage({ permits: 2 });
    const { end } = stage.begin();
    stage.clock.advance(31_000);
    const stuck = stage.bulkhead.tryAcquire();
    end();
    await flush();
    expect([stuck, typeof stage.bulkhead.tryAcquire()]).toEqual(['full', 'object']);
  });

  it('of a stuck lane hands nothing to waiters, who time out', async () => {
    const stage = new Stage({ permits: 2, queueWaitMsMax: 31_000 });
    stage.begin();
    stage.clock.advance(500);
    const permit = stage.bulkhead.tryAcquire();
    const waiter = stage.begin();
    stage.clock.advance(30_500);
    if (typeof permit === 'object') permit.release();
    const queued = stage.bulkhead.snapshot().queued;
    stage.clock.advance(500);
    await expect(waiter.entry.result).rejects.toMatchObject({ reason: 'queue_timeout' });
    expect(queued).toBe(1);
  });

  it('that ends unsticks the lane and serves the waiters with every free permit', async () => {
    const stage = new Stage({ permits: 2, queueWaitMsMax: 40_000 });
    const { end } = stage.begin();
    stage.clock.advance(500);
    const permit = stage.bulkhead.tryAcquire();
    const waiters = [stage.begin(), stage.begin()];
    stage.clock.advance(30_500);
    if (typeof permit === 'object') permit.release();
    end();
    await flush();
    expect([waiters.length, stage.bulkhead.snapshot()]).toMatchObject([2, { inUse: 2, queued: 0, stuck: false }]);
  });
});

describe('a caller that goes while its work runs', () => {
  it('is counted once', () => {
    const stage = new Stage();
    const { entry } = stage.begin();
    entry.abandon();
    entry.abandon();
    expect(stage.told).toEqual(['abort']);
  });

  it('leaves authorization work to run to its end', () => {
    const stage = new Stage();
    const { entry, execution } = stage.begin();
    entry.abandon();
    expect([execution.signal.aborted, stage.bulkhead.snapshot().inUse]).toEqual([false, 1]);
  });

  it('has a tax call aborted, which keeps its permit until it ends', () => {
    const stage = new Stage();
    const { entry, execution } = stage.begin({ abortWhenAbandoned: true });
    const { signal } = execution;
    entry.abandon();
    expect([signal.aborted, signal.reason, stage.bulkhead.snapshot().inUse]).toMatchObject([
      true,
      { reason: 'client_abort' },
      1,
    ]);
  });

  it('is the reason of the signal for good, also where the limit comes before anyone reads it', () => {
    const stage = new Stage();
    const { entry, execution } = stage.begin({ abortWhenAbandoned: true });
    entry.abandon();
    stage.clock.advance(1_000);
    expect(execution.signal).toMatchObject({ aborted: true, reason: { reason: 'client_abort' } });
  });

  it('is not counted again when the limit comes', () => {
    const stage = new Stage();
    stage.begin().entry.abandon();
    stage.clock.advance(1_000);
    expect([stage.told, stage.bulkhead.snapshot().zombies]).toEqual([['abort'], 1]);
  });

  it('is not counted when the limit came first', () => {
    const stage = new Stage();
    const { entry } = stage.begin();
    stage.clock.advance(1_000);
    entry.abandon();
    expect(stage.told).toEqual(['timeout']);
  });

  it('is nothing once the work has ended', async () => {
    const stage = new Stage();
    const { entry, end } = stage.begin();
    end();
    await flush();
    entry.abandon();
    expect([stage.told, await entry.result]).toEqual([[], 'done']);
  });
});
