import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead } from './bulkhead';
import type { BulkheadLimits, BulkheadObserver, Execution } from './bulkhead';

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));
const hang = () => new Promise<never>(() => {});

class OpenBulkhead extends Bulkhead {
  sizes(): number[] {
    return [this.waiters.size, this.executions.size, this.zombies.size, this.inUse, this.backgroundInUse];
  }
}

function build(limits: Partial<BulkheadLimits> = {}, observer: BulkheadObserver = {}) {
  const clock = new FakeClock();
  const bulkhead = new OpenBulkhead(
    { name: 'b', permits: 2, queueMax: 2, queueWaitMsMax: 100, executionMsMax: 1_000, background: null, ...limits },
    clock,
    observer,
  );
  return { bulkhead, clock };
}

/** What the process is told of rejections nobody handled, while `act` and what follows from it run. */
async function unhandledDuring(act: () => void | Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  await act();
  await flush();
  await flush();
  process.off('unhandledRejection', note);
  return unhandled;
}

describe('a permit', () => {
  // AutoMQ/automq PR 2382, opossum's catch path: a throw before the first await leaked the permit.
  it('is back after work that throws before its first await, a thousand times', async () => {
    const { bulkhead } = build();
    for (let call = 0; call < 1_000; call += 1) {
      const { result } = bulkhead.enter(() => {
        throw new Error('no promise yet');
      });
      await expect(result).rejects.toThrow('no promise yet');
    }
    expect(bulkhead.snapshot().inUse).toBe(0);
  });

  const thenableTwice = {
    then: (resolve: (value: string) => void, reject: (error: Error) => void) => {
      resolve('first');
      reject(new Error('second'));
      resolve('third');
    },
  };
  it.each<[string, (execution: Execution) => unknown, object]>([
    ['returns a plain value', () => 'plain', { status: 'fulfilled', value: 'plain' }],
    ['returns nothing', () => {}, { status: 'fulfilled', value: undefined }],
    ['resolves', async () => 'async', { status: 'fulfilled', value: 'async' }],
    ['rejects', () => Promise.reject(new Error('no')), { status: 'rejected', reason: new Error('no') }],
    ['settles twice', () => thenableTwice, { status: 'fulfilled', value: 'first' }],
    [
      'has a then that throws',
      () => ({
        get then() {
          throw new Error('trap');
        },
      }),
      { status: 'rejected', reason: new Error('trap') },
    ],
  ])('is back exactly once after work that %s', async (_what, work, outcome) => {
    let released = 0;
    const { bulkhead } = build({}, { onReleased: () => (released += 1) });
    const [settled] = await Promise.allSettled([bulkhead.enter(work).result]);
    await flush();
    expect([settled, released, bulkhead.snapshot().inUse]).toEqual([outcome, 1, 0]);
  });

  // resilience4j#263, #264, #1569; restify/clients PR 200: a second release raised the limit, or the gauge fell below 0.
  it('released twice is back once, and the second time is counted', () => {
    let violations = 0;
    const { bulkhead } = build({}, { onReleaseViolation: () => (violations += 1) });
    const permit = bulkhead.tryAcquire();
    if (typeof permit === 'object') [1, 2, 3].forEach(() => permit.release());
    expect([bulkhead.snapshot(), violations]).toMatchObject([{ inUse: 0, releaseViolations: 2 }, 2]);
  });

  it('released twice does not let one more in than there are permits', () => {
    const { bulkhead } = build();
    const [first] = [bulkhead.tryAcquire(), bulkhead.tryAcquire()];
    if (typeof first === 'object') [1, 2].forEach(() => first.release());
    expect([bulkhead.tryAcquire(), bulkhead.tryAcquire()]).toEqual([expect.anything(), 'full']);
  });

  it('tells how long it was held, zombie time included', async () => {
    const held: number[] = [];
    const { bulkhead, clock } = build({}, { onReleased: (executionMs) => held.push(executionMs) });
    clock.advance(700);
    const work = Promise.withResolvers<void>();
    bulkhead.enter(() => work.promise).result.catch(() => {});
    clock.advance(5_000);
    work.resolve();
    await flush();
    expect(held).toEqual([5_000]);
  });

  it('taken by hand is told of with its time as well, and its refusal as one of a caller', () => {
    const told: unknown[] = [];
    const { bulkhead, clock } = build(
      { permits: 1 },
      { onReleased: (executionMs) => told.push(executionMs), onRefused: (...what) => told.push(what) },
    );
    clock.advance(700);
    const permit = bulkhead.tryAcquire();
    bulkhead.tryAcquire();
    clock.advance(300);
    if (typeof permit === 'object') permit.release();
    expect(told).toEqual([['full', false], 300]);
  });
});

describe('an observer that throws', () => {
  const broken: BulkheadObserver = Object.fromEntries(
    ['Admitted', 'Refused', 'ExecutionTimeout', 'ClientAbort', 'Released', 'StateChanged', 'ReleaseViolation']
      .concat('ZombieAlert', 'ZombiesHalf')
      .map((event) => [
        `on${event}`,
        () => {
          throw new Error('broken metric');
        },
      ]),
  );

  it('costs no permit, whatever happens', async () => {
    const { bulkhead, clock } = build({ permits: 1, queueMax: 1 }, broken);
    const work = Promise.withResolvers<string>();
    const entries = [1, 2, 3].map(() => bulkhead.enter(() => work.promise));
    const results = Promise.allSettled(entries.map((entry) => entry.result));
    clock.advance(31_000);
    entries.forEach((entry) => entry.abandon());
    work.resolve('late');
    await results;
    await flush();
    clock.advance(10_000);
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 0, queued: 0, state: 'NORMAL', stuck: false });
  });

  it('is counted', () => {
    const { bulkhead } = build({}, broken);
    bulkhead.tryAcquire();
    expect(bulkhead.snapshot().observerFailures).toBe(1);
  });

  it('is not one that does not listen', () => {
    const { bulkhead } = build({ permits: 1 });
    bulkhead.tryAcquire();
    bulkhead.tryAcquire();
    expect(bulkhead.snapshot().observerFailures).toBe(0);
  });
});

describe('work of the lane’s own workers', () => {
  const background = { permitsMax: 2, inUseMax: 5 };

  it.each([
    [0, 2],
    [3, 2],
    [4, 1],
    [5, 0],
  ])('with %i permits in use gets %i of at most 2, never above 5 in use', (inUse, begun) => {
    const { bulkhead } = build({ permits: 10, background });
    for (let taken = 0; taken < inUse; taken += 1) bulkhead.tryAcquire();
    for (let entered = 0; entered < 3; entered += 1) bulkhead.enterBackground(hang).result.catch(() => {});
    expect(bulkhead.snapshot()).toMatchObject({ background: begun, inUse: inUse + begun, queued: 0 });
  });

  it('is refused where the lane has no workers', async () => {
    await expect(build().bulkhead.enterBackground(hang).result).rejects.toMatchObject({ reason: 'full' });
  });

  it('is refused at once, and told apart from a caller’s refusal', async () => {
    const refused: unknown[] = [];
    const { bulkhead } = build({}, { onRefused: (...what) => refused.push(what) });
    await expect(bulkhead.enterBackground(hang).result).rejects.toMatchObject({ reason: 'full' });
    expect(refused).toEqual([['full', true]]);
  });

  it('gives its room back when it ends', async () => {
    const { bulkhead } = build({ background: { permitsMax: 1, inUseMax: 1 } });
    await bulkhead.enterBackground(() => 'first').result;
    await expect(bulkhead.enterBackground(() => 'second').result).resolves.toBe('second');
  });

  it('runs to its end when whoever began it goes', () => {
    const { bulkhead } = build({ permits: 10, background });
    let signal: AbortSignal | null = null;
    const entry = bulkhead.enterBackground((execution) => {
      signal = execution.signal;
      return hang();
    });
    entry.abandon();
    expect(signal).toMatchObject({ aborted: false });
  });

  it('keeps its room while it is a zombie', () => {
    const { bulkhead, clock } = build({ background: { permitsMax: 1, inUseMax: 2 } });
    bulkhead.enterBackground(hang).result.catch(() => {});
    clock.advance(2_000);
    expect(bulkhead.snapshot()).toMatchObject({ background: 1, zombies: 1 });
  });
});

describe('a finished call', () => {
  it('leaves nothing behind, after a hundred thousand of every kind', async () => {
    const { bulkhead, clock } = build({ permits: 50, queueMax: 10_000, background: { permitsMax: 9, inUseMax: 9 } });
    const unhandled = await unhandledDuring(async () => {
      for (let round = 0; round < 10; round += 1) {
        const entries = Array.from({ length: 10_000 }, (_, call) =>
          bulkhead.enter(call % 3 === 0 ? () => Promise.reject(new Error('no')) : () => call),
        );
        entries.filter((_, call) => call % 5 === 0).forEach((entry) => entry.abandon());
        await Promise.allSettled(entries.map((entry) => entry.result));
      }
    });
    clock.advance(10_000);
    expect([bulkhead.sizes(), clock.armed, unhandled]).toEqual([[0, 0, 0, 0, 0], 0, []]);
  }, 60_000);

  it('is forgotten by the engine, result and all', async () => {
    const { bulkhead } = build();
    const entered: WeakRef<object>[] = [];
    for (let call = 0; call < 100; call += 1) {
      const entry = bulkhead.enter(async ({ signal }) => signal.aborted);
      entered.push(new WeakRef(entry));
      await entry.result;
    }
    await flush();
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(entered.filter((entry) => entry.deref() !== undefined).length).toBeLessThan(5);
  });

  it('needs no new timer while the bulkhead stays busy', async () => {
    const { bulkhead, clock } = build();
    bulkhead.enter(hang).result.catch(() => {});
    const before = clock.scheduledTotal;
    for (let call = 0; call < 1_000; call += 1) {
      clock.advance(0.5);
      await bulkhead.enter(() => {}).result;
    }
    expect(clock.scheduledTotal).toBe(before);
  });

  it('needs no new timer where calls come one after another', async () => {
    const { bulkhead, clock } = build();
    for (let call = 0; call < 1_000; call += 1) {
      await bulkhead.enter(() => {}).result;
      clock.advance(0.5);
    }
    expect(clock.scheduledTotal).toBe(1);
  });

  it('leaves a timer that rings once within the execution limit, and wakes an idle bulkhead no more', async () => {
    const { bulkhead, clock } = build();
    await bulkhead.enter(() => {}).result;
    const armed = clock.armed;
    clock.advance(1_000);
    expect([armed, clock.armed, clock.scheduledTotal]).toEqual([1, 0, 1]);
  });

  it('leaves no timer where it was the last one of a bulkhead that drains', async () => {
    const { bulkhead, clock } = build();
    const last = bulkhead.enter(() => {});
    await Promise.all([last.result, bulkhead.drain()]);
    expect(clock.armed).toBe(0);
  });

  it('whose caller went is no unhandled rejection, however it ends', async () => {
    const { bulkhead, clock } = build({ permits: 3, queueMax: 1 });
    const unhandled = await unhandledDuring(() => {
      const fault = Promise.withResolvers<void>();
      const running = [() => fault.promise, hang, () => Promise.reject(new Error('no'))].map((work) =>
        bulkhead.enter(work),
      );
      const [waiting, refused] = [bulkhead.enter(hang), bulkhead.enter(hang)];
      [...running, waiting, refused].forEach((entry) => entry.abandon());
      fault.reject(new Error('nobody listens'));
      clock.advance(1_000);
    });
    expect(unhandled).toEqual([]);
  });
});
