import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead } from './bulkhead';
import type { BulkheadLimits, BulkheadObserver, Entry, Permit } from './bulkhead';

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));

class Stage {
  readonly clock = new FakeClock();
  readonly begun: string[] = [];
  readonly refused: string[] = [];
  readonly waitedMs: number[] = [];
  readonly bulkhead: Bulkhead;

  constructor(limits: Partial<BulkheadLimits> = {}, observer: BulkheadObserver = {}) {
    this.bulkhead = new Bulkhead(
      { name: 'b', permits: 1, queueMax: 3, queueWaitMsMax: 100, executionMsMax: 1_000, background: null, ...limits },
      this.clock,
      {
        onRefused: (reason) => this.refused.push(reason),
        onAdmitted: (queueWaitMs) => this.waitedMs.push(queueWaitMs),
        ...observer,
      },
    );
  }

  take(): Permit {
    const permit = this.bulkhead.tryAcquire();
    if (typeof permit === 'string') throw new Error(permit);
    return permit;
  }

  /** A work that notes its name when it begins, and then never ends. */
  enter(name: string) {
    const entry = this.bulkhead.enter(() => {
      this.begun.push(name);
      return new Promise<never>(() => {});
    });
    entry.result.catch(() => {});
    return entry;
  }
}

describe('the queue of a bulkhead', () => {
  it('gives permits in the order of arrival', () => {
    const stage = new Stage({ permits: 3 });
    const permits = [stage.take(), stage.take(), stage.take()];
    for (const name of ['a', 'b', 'c']) stage.enter(name);
    for (const permit of permits.toReversed()) permit.release();
    expect(stage.begun).toEqual(['a', 'b', 'c']);
  });

  // connor4312/cockatiel BulkheadPolicy: a newcomer overtook the waiter in the tick of the release.
  it('gives a released permit to the waiter, not to a newcomer of the same tick', () => {
    const stage = new Stage();
    const permit = stage.take();
    stage.enter('waiter');
    permit.release();
    stage.enter('newcomer');
    expect(stage.begun).toEqual(['waiter']);
  });

  it('has handed the permit over before release returns', () => {
    const stage = new Stage();
    const permit = stage.take();
    stage.enter('waiter');
    permit.release();
    expect(stage.bulkhead.snapshot()).toMatchObject({ inUse: 1, queued: 0 });
  });

  it('never refuses a waiter because a newcomer came', () => {
    const stage = new Stage({ queueMax: 1 });
    const permit = stage.take();
    stage.enter('waiter');
    for (let newcomer = 0; newcomer < 10; newcomer += 1) stage.enter('newcomer');
    permit.release();
    expect(stage.begun).toEqual(['waiter']);
  });

  it.each([
    [99, []],
    [100, ['queue_timeout']],
    [101, ['queue_timeout']],
  ])('after %i of at most 100 ms has refused %j', (ms, refused) => {
    const stage = new Stage();
    stage.take();
    stage.enter('waiter');
    stage.clock.advance(ms);
    expect(stage.refused).toEqual(refused);
  });

  it('frees the place of a waiter that waited too long', () => {
    const stage = new Stage({ queueMax: 1 });
    stage.take();
    stage.enter('first');
    stage.clock.advance(100);
    stage.enter('second');
    expect(stage.bulkhead.snapshot().queued).toBe(1);
  });

  // resilience4j#1460: work ran for a caller that had been answered long before.
  it('never begins the work of a waiter that waited too long, even where the timer is late', async () => {
    const stage = new Stage();
    const permit = stage.take();
    const late = stage.enter('late');
    stage.clock.stall(150);
    permit.release();
    await expect(late.result).rejects.toMatchObject({ reason: 'queue_timeout' });
    expect([stage.begun, stage.bulkhead.snapshot().inUse]).toEqual([[], 0]);
  });

  it('gives a late waiter’s place to a newcomer before the timer has noticed', () => {
    const stage = new Stage({ queueMax: 1 });
    stage.take();
    stage.enter('late');
    stage.clock.stall(100);
    stage.enter('newcomer');
    expect([stage.refused, stage.bulkhead.snapshot().queued]).toEqual([['queue_timeout'], 1]);
  });

  it('tells how long a waiter waited', () => {
    const stage = new Stage();
    stage.clock.advance(700);
    const permit = stage.take();
    const waits: number[] = [];
    stage.bulkhead.enter(({ queueWaitMs }) => {
      waits.push(queueWaitMs);
    });
    stage.clock.advance(40);
    permit.release();
    expect([waits, stage.waitedMs]).toEqual([[40], [0, 40]]);
  });

  // connor4312/cockatiel#112: an aborted waiter kept its place.
  it('frees the place of a caller that has gone at once', async () => {
    const stage = new Stage({ queueMax: 1 });
    stage.take();
    const gone = stage.enter('gone');
    gone.abandon();
    stage.enter('newcomer');
    await expect(gone.result).rejects.toMatchObject({ reason: 'client_abort' });
    expect(stage.bulkhead.snapshot().queued).toBe(1);
  });

  it('never begins the work of a caller that has gone', () => {
    const stage = new Stage();
    const permit = stage.take();
    stage.enter('gone').abandon();
    stage.enter('next');
    permit.release();
    expect(stage.begun).toEqual(['next']);
  });

  it('lets a caller go from the middle of the queue', () => {
    const stage = new Stage({ permits: 3 });
    const permits = [stage.take(), stage.take(), stage.take()];
    const [, middle] = ['a', 'b', 'c'].map((name) => stage.enter(name));
    middle?.abandon();
    permits.forEach((permit) => permit.release());
    expect(stage.begun).toEqual(['a', 'c']);
  });

  it('counts a caller that went while waiting once, as a refusal', () => {
    const stage = new Stage();
    stage.take();
    const gone = stage.enter('gone');
    gone.abandon();
    gone.abandon();
    stage.clock.advance(200);
    expect(stage.refused).toEqual(['client_abort']);
  });

  // sindresorhus/p-queue#168, #219, #241: running and queued aborted together hung the queue.
  it('serves a fresh call after the running and the waiting one were abandoned together', async () => {
    const stage = new Stage();
    const work = Promise.withResolvers<void>();
    const running = stage.bulkhead.enter(() => work.promise);
    const waiting = stage.enter('waiting');
    running.abandon();
    waiting.abandon();
    work.resolve();
    await Promise.allSettled([running.result, waiting.result]);
    await flush();
    await expect(stage.bulkhead.enter(() => 'served').result).resolves.toBe('served');
  });

  it('withdraws a caller that goes between the hand-off and the beginning of its work', async () => {
    const stage: Stage = new Stage({}, { onReleased: () => entry.abandon() });
    const permit = stage.take();
    const entry = stage.enter('gone');
    permit.release();
    await expect(entry.result).rejects.toMatchObject({ reason: 'client_abort' });
    expect([stage.begun, stage.bulkhead.snapshot().inUse]).toEqual([[], 0]);
  });

  it('counts a late waiter once, also when the news of another one sends it away', () => {
    const refused: string[] = [];
    const stage: Stage = new Stage({}, { onRefused: (reason) => refused.push(reason) && second.abandon() });
    stage.take();
    stage.enter('first');
    const second = stage.enter('second');
    stage.clock.advance(100);
    expect(refused).toEqual(['queue_timeout', 'client_abort']);
  });

  it('takes a caller whom the news of its admission sends away for one that went while its work ran', () => {
    let gone: Entry<never> | null = null;
    const stage = new Stage({}, { onAdmitted: () => gone?.abandon() });
    const permit = stage.take();
    gone = stage.enter('waiter');
    permit.release();
    expect([stage.begun, stage.refused, stage.bulkhead.snapshot().inUse]).toEqual([['waiter'], [], 1]);
  });

  it('hands on through twenty thousand works that end at once without growing the stack', async () => {
    const stage = new Stage({ queueMax: 20_000 });
    const permit = stage.take();
    const fault = () => {
      throw new Error('at once');
    };
    const results = Array.from({ length: 20_000 }, () => stage.bulkhead.enter(fault).result);
    permit.release();
    expect(stage.bulkhead.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
    await Promise.allSettled(results);
  });

  it('begins the work of the last of many such from no deeper than that of the first', async () => {
    const stage = new Stage({ queueMax: 30 });
    const permit = stage.take();
    const depths: number[] = [];
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 1_000;
    const fault = () => {
      depths.push(new Error().stack?.split('\n').length ?? 0);
      throw new Error('at once');
    };
    const results = Array.from({ length: 30 }, () => stage.bulkhead.enter(fault).result);
    permit.release();
    Error.stackTraceLimit = limit;
    await Promise.allSettled(results);
    expect([depths.length, Math.max(...depths)]).toEqual([30, Math.min(...depths)]);
  });

  it('uses one timer for all its waiters and executions', () => {
    const stage = new Stage({ permits: 50, queueMax: 50 });
    for (let call = 0; call < 100; call += 1) {
      stage.enter('call');
      stage.clock.advance(0.5);
    }
    expect([stage.clock.armed, stage.clock.scheduledTotal]).toEqual([1, 2]);
  });
});

describe('draining', () => {
  it('refuses what is new, in every door', async () => {
    const stage = new Stage();
    void stage.bulkhead.drain();
    const refused = [stage.enter('new').result, stage.bulkhead.enterBackground(() => {}).result];
    expect(stage.bulkhead.tryAcquire()).toBe('draining');
    for (const result of refused) await expect(result).rejects.toMatchObject({ reason: 'draining' });
  });

  it('still gives permits to those who waited before it', () => {
    const stage = new Stage();
    const permit = stage.take();
    stage.enter('waiter');
    void stage.bulkhead.drain();
    permit.release();
    expect(stage.begun).toEqual(['waiter']);
  });

  it('is over when nothing is in use and nobody waits, and not before', async () => {
    const stage = new Stage();
    const seen: string[] = [];
    const permit = stage.take();
    stage.bulkhead
      .enter(() => {})
      .result.then(
        () => seen.push('waiter served'),
        () => {},
      );
    void stage.bulkhead.drain().then(() => seen.push('drained'));
    await flush();
    seen.push('released');
    permit.release();
    await flush();
    expect(seen).toEqual(['released', 'waiter served', 'drained']);
  });

  it('is over at once in an idle bulkhead, and the same when asked again', async () => {
    const { bulkhead } = new Stage();
    const drained = bulkhead.drain();
    await drained;
    expect(bulkhead.drain()).toBe(drained);
  });

  it('waits for zombies', async () => {
    const stage = new Stage();
    const work = Promise.withResolvers<void>();
    stage.bulkhead.enter(() => work.promise).result.catch(() => {});
    let drained = false;
    void stage.bulkhead.drain().then(() => (drained = true));
    stage.clock.advance(5_000);
    await flush();
    const before = drained;
    work.resolve();
    await flush();
    expect([before, drained]).toEqual([false, true]);
  });
});

describe('closing', () => {
  it('leaves no timer, and sets none again', () => {
    const stage = new Stage({ permits: 2 });
    stage.enter('running');
    stage.bulkhead.close();
    const permit = stage.bulkhead.tryAcquire();
    expect([stage.clock.armed, permit]).toEqual([0, 'draining']);
  });

  it('refuses the waiters, whose wait nothing would end any more', async () => {
    const stage = new Stage();
    stage.take();
    const waiter = stage.enter('waiter');
    stage.bulkhead.close();
    await expect(waiter.result).rejects.toMatchObject({ reason: 'draining' });
  });
});
