import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead } from './bulkhead';
import type { Entry } from './bulkhead';
import type { Call } from './call';

const RUNS = 300;

type Engine = new (...parameters: ConstructorParameters<typeof Bulkhead>) => Bulkhead;

/**
 * One caller: comes at some point, its work takes some awaits and then succeeds or fails; it may go on the way, and
 * it may come again in the very tick in which it is answered.
 */
interface Caller {
  awaits: number;
  fails: boolean;
  leaves: boolean;
  returns: boolean;
  /** What passes at some point, in ms. */
  passesMs: number;
}

const callers = fc.array(
  fc.record<Caller>({
    awaits: fc.nat(3),
    fails: fc.boolean(),
    leaves: fc.boolean(),
    returns: fc.boolean(),
    passesMs: fc.constantFrom(0, 45, 1_000),
  }),
  { minLength: 1, maxLength: 12 },
);

/** The real asynchrony of callers, works, leavers and time, in an order that the scheduler chooses and can replay. */
class Scene {
  readonly clock = new FakeClock();
  readonly bulkhead: Bulkhead;
  readonly arrived: number[] = [];
  readonly begun: number[] = [];
  readonly settled: number[] = [];
  /** Found inside works and callbacks, where a throw would be swallowed. */
  readonly faults: string[] = [];
  private readonly entries = new Map<number, Entry<number>>();
  private running = 0;
  private refused = 0;

  constructor(
    private readonly scheduler: fc.Scheduler,
    engine: Engine,
    private readonly permits: number,
  ) {
    this.bulkhead = new engine(
      { name: 'b', permits, queueMax: 4, queueWaitMsMax: 100, executionMsMax: 1_000, background: null },
      this.clock,
      { onRefused: () => (this.refused += 1) },
    );
  }

  enter({ awaits, fails, returns, ...rest }: Caller, id = this.arrived.length): number {
    this.arrived.push(id);
    const work = async (): Promise<number> => {
      this.begun.push(id);
      this.running += 1;
      // Works counted by themselves, not by the engine: the limit is about what reaches the dependency.
      if (this.running > this.permits) this.faults.push(`${this.running} works at once`);
      try {
        for (let turn = 0; turn < awaits; turn += 1) await this.scheduler.schedule(Promise.resolve(), `work ${id}`);
        if (fails) throw new Error('failed');
        return id;
      } finally {
        this.running -= 1;
      }
    };
    const entry = this.bulkhead.enter(work);
    this.entries.set(id, entry);
    const settle = () => {
      this.settled.push(id);
      if (returns) this.enter({ awaits, fails, ...rest, returns: false });
    };
    entry.result.then(settle, settle);
    this.check();
    return id;
  }

  leave(id: number): void {
    this.entries.get(id)?.abandon();
    this.check();
  }

  pass(ms: number): void {
    this.clock.advance(ms);
    this.check();
  }

  check(): void {
    const { inUse, queued } = this.bulkhead.snapshot();
    const require = (holds: boolean, fault: string) => void (holds || this.faults.push(fault));
    require(inUse >= 0 && inUse <= this.permits, `${inUse} in use of ${this.permits}`);
    require(queued <= 4, `${queued} queued`);
    require(queued === 0 || inUse === this.permits, 'a free permit while somebody waits');
    require(queued === this.arrived.length - this.begun.length - this.refused, 'a place kept for nobody');
    require(this.begun.every((id, at) => at === 0 || id > (this.begun[at - 1] as number)), 'out of order');
  }
}

function property(engine: Engine) {
  return fc.asyncProperty(
    fc.scheduler(),
    fc.integer({ min: 1, max: 3 }),
    callers,
    async (scheduler, permits, drawn) => {
      const scene = new Scene(scheduler, engine, permits);
      const at = (label: string) => scheduler.schedule(Promise.resolve(), label);
      const acts = drawn.map(async (caller) => {
        const passed = at(`${caller.passesMs} ms`).then(() => scene.pass(caller.passesMs));
        await at('enter');
        const id = scene.enter(caller);
        if (caller.leaves) await at('leave').then(() => scene.leave(id));
        await passed;
      });
      await scheduler.waitIdle();
      await Promise.all(acts);
      scene.check();
      assert.deepEqual(scene.faults, []);
      assert.equal(scene.settled.length, scene.arrived.length);
      assert.deepEqual([scene.bulkhead.snapshot().inUse, scene.bulkhead.snapshot().queued], [0, 0]);
      await scene.bulkhead.drain();
    },
  );
}

class LetsNewcomersBarge extends Bulkhead {
  protected override mayTakeNow(): boolean {
    return this.inUse < this.limits.permits;
  }
  protected override handOff(): void {
    queueMicrotask(() => {
      super.handOff();
      this.toStart.run();
    });
  }
}
class ServesTheLastFirst extends Bulkhead {
  protected override handOff(): void {
    for (let moves = this.waiters.size - 1; moves > 0; moves -= 1) this.waiters.push(this.waiters.shift() as Call);
    super.handOff();
  }
}
class FreesThePermitAtTimeOut extends Bulkhead {
  protected override timeOut(call: Call, nowMs: number): void {
    super.timeOut(call, nowMs);
    this.inUse -= 1;
  }
}
class KeepsAbandonedWaiters extends Bulkhead {
  protected override withdraw(call: Call): void {
    this.refuse(call, 'client_abort');
  }
}

/** The faults that callers can see whose works count themselves. */
const FAULTY_BULKHEADS: Engine[] = [
  LetsNewcomersBarge,
  ServesTheLastFirst,
  FreesThePermitAtTimeOut,
  KeepsAbandonedWaiters,
];

describe('a bulkhead under every interleaving of awaits', () => {
  it(`keeps bounds, order and promises, in ${RUNS} schedules`, async () => {
    await fc.assert(property(Bulkhead), { numRuns: RUNS });
  }, 600_000);

  it.each(FAULTY_BULKHEADS.map((engine) => [engine.name, engine] as const))(
    'is told apart from a faulty one: %s',
    async (_fault, engine) => {
      const found = await fc.check(property(engine), { numRuns: 2_000, endOnFailure: true });
      expect(found.failed).toBe(true);
    },
  );
});
