import assert from 'node:assert/strict';
import fc from 'fast-check';
import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead } from './bulkhead';
import type { BulkheadLimits, Entry, Permit } from './bulkhead';
import type { Call } from './call';

/** Enough to find each planted fault many times over; 20,000 pass as well. */
const RUNS = 300;
const WAIT_MS = 100;
const EXECUTION_MS = 1_000;
const OLD_MS = 30_000;

/** How a work ends: when it is told to, when its signal fires, by a throw before its first await, or at once. */
type Kind = 'told' | 'obeys' | 'throws' | 'plain' | 'twice';

/** What a call is from the start. */
interface CallPlan {
  kind: Kind;
  background: boolean;
  /** The signal fires when the caller goes. */
  aborts: boolean;
}

interface ModelCall extends CallPlan {
  sinceMs: number;
  abandoned: boolean;
  outcome: string | null;
}

/** The contract's rules over plain arrays of call numbers. Shares nothing with the engine, links no lists, sets no timer. */
class Model {
  nowMs = 0;
  calls: ModelCall[] = [];
  queue: number[] = [];
  running: number[] = [];
  zombies: number[] = [];
  begun: number[] = [];
  /** Works that end as soon as the step is over. */
  ending: number[] = [];
  rawPermits = 0;
  draining = false;
  violations = 0;
  counts = { admitted: 0, refused: 0, timeout: 0, abort: 0, released: 0, zombieAlert: 0, half: 0 };
  private old = new Set<number>();

  constructor(readonly limits: BulkheadLimits) {}

  call(id: number): ModelCall {
    return this.calls[id] as ModelCall;
  }

  get inUse(): number {
    return this.running.length + this.zombies.length + this.rawPermits;
  }

  get background(): number {
    return [...this.running, ...this.zombies].filter((id) => this.call(id).background).length;
  }

  get stuck(): boolean {
    return this.zombies.filter((id) => this.old.has(id)).length >= this.limits.permits / 2;
  }

  get free(): boolean {
    return this.inUse < this.limits.permits && this.queue.length === 0 && !this.stuck;
  }

  enter(call: CallPlan): void {
    const id = this.calls.push({ ...call, sinceMs: this.nowMs, abandoned: false, outcome: null }) - 1;
    const rules = this.limits.background;
    const allowed =
      !call.background || (rules !== null && this.background < rules.permitsMax && this.inUse + 1 <= rules.inUseMax);
    if (this.draining) this.refuse(id, 'draining');
    else if (this.free && allowed) this.grant(id);
    else if (!call.background && !this.stuck && this.queue.length < this.limits.queueMax) this.queue.push(id);
    else this.refuse(id, 'full');
  }

  acquire(): void {
    if (this.draining || !this.free) this.counts.refused += 1;
    else {
      this.rawPermits += 1;
      this.counts.admitted += 1;
    }
  }

  release(): void {
    this.rawPermits -= 1;
    this.back();
  }

  /** A work ends; `outcome` is what the caller gets unless it was answered before. */
  finish(id: number, outcome: string): void {
    if (!this.running.includes(id) && !this.zombies.includes(id)) return;
    this.running = this.running.filter((other) => other !== id);
    this.zombies = this.zombies.filter((other) => other !== id);
    this.call(id).outcome ??= outcome;
    this.back();
  }

  abandon(id: number): void {
    const call = this.call(id);
    if (call.abandoned) return;
    call.abandoned = true;
    if (this.queue.includes(id)) {
      this.queue = this.queue.filter((other) => other !== id);
      this.refuse(id, 'client_abort');
    } else if (this.running.includes(id)) {
      this.counts.abort += 1;
      if (call.aborts && call.kind === 'obeys') this.ending.push(id);
    }
  }

  /** Time frees no permit, so nothing begins here: waits end, limits pass, zombies grow old, in order of time. */
  advance(ms: number): void {
    this.nowMs += ms;
    const due = (id: number, limitMs: number) => this.call(id).sinceMs + limitMs <= this.nowMs;
    for (const id of this.queue.filter((waiter) => due(waiter, WAIT_MS))) this.refuse(id, 'queue_timeout');
    this.queue = this.queue.filter((id) => this.call(id).outcome === null);
    for (const id of this.running.filter((execution) => due(execution, EXECUTION_MS))) {
      const call = this.call(id);
      if (!call.abandoned) this.counts.timeout += 1;
      call.outcome = 'timeout';
      call.sinceMs += EXECUTION_MS;
      this.zombies.push(id);
      if (call.kind === 'obeys') this.ending.push(id);
    }
    this.running = this.running.filter((id) => !this.zombies.includes(id));
    for (const id of this.zombies.filter((zombie) => !this.old.has(zombie) && due(zombie, OLD_MS))) {
      const wasStuck = this.stuck;
      this.old.add(id);
      this.counts.zombieAlert += 1;
      if (this.stuck && !wasStuck) this.counts.half += 1;
    }
  }

  /** After each step: what has to end by itself ends. */
  endStep(): void {
    for (let id = this.ending.shift(); id !== undefined; id = this.ending.shift()) {
      this.finish(id, this.call(id).kind === 'obeys' ? 'error' : 'value');
    }
  }

  private refuse(id: number, reason: string): void {
    this.call(id).outcome = reason;
    this.counts.refused += 1;
  }

  private grant(id: number): void {
    const { kind } = this.call(id);
    this.call(id).sinceMs = this.nowMs;
    this.counts.admitted += 1;
    this.running.push(id);
    this.begun.push(id);
    if (kind === 'throws') this.finish(id, 'error');
    else if (kind === 'plain' || kind === 'twice') this.ending.push(id);
  }

  private back(): void {
    this.counts.released += 1;
    while (this.inUse < this.limits.permits && !this.stuck && this.queue.length > 0) {
      this.grant(this.queue.shift() as number);
    }
  }
}

type Engine = new (...parameters: ConstructorParameters<typeof Bulkhead>) => Bulkhead;

/** The engine under test with everything that can be seen of it from outside. */
class Subject {
  readonly clock = new FakeClock();
  readonly entries: Entry<unknown>[] = [];
  readonly outcomes: (string | null)[] = [];
  readonly begun: number[] = [];
  readonly told = new Map<number, PromiseWithResolvers<unknown>>();
  readonly held: Permit[] = [];
  readonly spent: Permit[] = [];
  readonly counts = { admitted: 0, refused: 0, timeout: 0, abort: 0, released: 0, zombieAlert: 0, half: 0 };
  readonly bulkhead: Bulkhead;

  constructor(engine: Engine, limits: BulkheadLimits) {
    this.bulkhead = new engine(limits, this.clock, {
      onAdmitted: () => (this.counts.admitted += 1),
      onRefused: () => (this.counts.refused += 1),
      onExecutionTimeout: () => (this.counts.timeout += 1),
      onClientAbort: () => (this.counts.abort += 1),
      onReleased: () => (this.counts.released += 1),
      onZombieAlert: () => (this.counts.zombieAlert += 1),
      onZombiesHalf: () => (this.counts.half += 1),
    });
  }

  enter({ kind, background, aborts }: CallPlan): void {
    const id = this.outcomes.push(null) - 1;
    const work = ({ signal }: { signal: AbortSignal }): unknown => {
      this.begun.push(id);
      if (kind === 'throws') throw new Error('before the first await');
      if (kind === 'plain') return 'value';
      if (kind === 'twice') return { then: (resolve: (value: unknown) => void) => [1, 2].forEach(resolve) };
      const end = Promise.withResolvers<unknown>();
      this.told.set(id, end);
      if (kind === 'obeys') signal.addEventListener('abort', () => end.reject(new Error('stopped')));
      return end.promise;
    };
    const entry = background
      ? this.bulkhead.enterBackground(work)
      : this.bulkhead.enter(work, { abortWhenAbandoned: aborts });
    this.entries.push(entry);
    const settle = (outcome: string) => {
      assert.equal(this.outcomes[id], null, `call ${id} settled twice`);
      this.outcomes[id] = outcome;
    };
    entry.result.then(
      () => settle('value'),
      (error: { name: string; reason?: string }) =>
        settle(error.name === 'ExecutionTimeoutError' ? 'timeout' : (error.reason ?? 'error')),
    );
  }

  acquire(): void {
    const permit = this.bulkhead.tryAcquire();
    if (typeof permit === 'object') this.held.push(permit);
  }

  /** True at every moment, also in the middle of a step. */
  checkBounds(): void {
    const { inUse, permits, queued, queueMax, stuck, zombies, running } = this.bulkhead.snapshot();
    assert.ok(inUse >= 0 && inUse <= permits, `${inUse} in use of ${permits}`);
    assert.ok(queued >= 0 && queued <= queueMax, `${queued} queued of ${queueMax}`);
    assert.equal(running + zombies, inUse);
    assert.ok(inUse === permits || queued === 0 || stuck, 'a free permit while somebody waits');
    assert.ok(this.clock.armed <= 1, 'more than one timer');
  }

  check(model: Model): void {
    const { inUse, running, zombies, background, queued, draining, stuck, releaseViolations } =
      this.bulkhead.snapshot();
    assert.deepEqual(
      { inUse, running, zombies, background, queued, draining, stuck, releaseViolations },
      {
        inUse: model.inUse,
        running: model.running.length + model.rawPermits,
        zombies: model.zombies.length,
        background: model.background,
        queued: model.queue.length,
        draining: model.draining,
        stuck: model.stuck,
        releaseViolations: model.violations,
      },
    );
    assert.deepEqual(this.begun, model.begun, 'order of grants');
    assert.deepEqual(
      this.outcomes,
      model.calls.map(({ outcome }) => outcome),
    );
    assert.deepEqual(this.counts, model.counts);
  }
}

const flush = () => new Promise<void>((resolve) => setImmediate(resolve));

/** One step in both worlds; `both` does it to the engine and to the model, and nothing else is in between. */
function step(name: string, both: (model: Model, subject: Subject) => void): fc.AsyncCommand<Model, Subject> {
  return {
    check: () => true,
    toString: () => name,
    async run(model, subject) {
      both(model, subject);
      subject.checkBounds();
      await flush();
      model.endStep();
      subject.checkBounds();
      subject.check(model);
    },
  };
}

/** Out of `list`, the one that a drawn number stands for. */
function pick<T>(list: readonly T[], drawn: number): T | undefined {
  return list[drawn % Math.max(list.length, 1)];
}

const kinds = fc.constantFrom<Kind>('told', 'told', 'told', 'obeys', 'throws', 'plain', 'twice');
const calls = fc.record({ kind: kinds, background: fc.constant(false), aborts: fc.boolean() });

function enterBoth(call: CallPlan, model: Model, subject: Subject): void {
  model.enter(call);
  subject.enter(call);
}

function releaseBoth(drawn: number, model: Model, subject: Subject): void {
  const permit = pick(subject.held, drawn);
  if (permit === undefined) return;
  subject.held.splice(subject.held.indexOf(permit), 1);
  subject.spent.push(permit);
  permit.release();
  subject.checkBounds();
  model.release();
}

const histories = fc.commands(
  [
    calls.map((call) => step(`enter ${call.kind}`, (...both) => enterBoth(call, ...both))),
    calls.map((call) => step(`enter ${call.kind}`, (...both) => enterBoth(call, ...both))),
    kinds.map((kind) =>
      step(`background ${kind}`, (...both) => enterBoth({ kind, background: true, aborts: false }, ...both)),
    ),
    fc.constant(
      step('acquire', (model, subject) => {
        model.acquire();
        subject.acquire();
      }),
    ),
    fc.nat().map((drawn) => step('release', (...both) => releaseBoth(drawn, ...both))),
    fc.tuple(fc.nat(), calls).map(([drawn, call]) =>
      step(`release and enter ${call.kind} in one tick`, (...both) => {
        releaseBoth(drawn, ...both);
        enterBoth(call, ...both);
      }),
    ),
    fc.nat().map((drawn) =>
      step('release twice', (model, subject) => {
        const permit = pick(subject.spent, drawn);
        if (permit === undefined) return;
        permit.release();
        model.violations += 1;
      }),
    ),
    fc.tuple(fc.nat(), fc.boolean()).map(([drawn, succeeds]) =>
      step(succeeds ? 'succeed' : 'fail', (model, subject) => {
        const told = pick([...subject.told], drawn);
        if (told === undefined) return;
        const [id, end] = told;
        subject.told.delete(id);
        if (succeeds) end.resolve('value');
        else end.reject(new Error('failed'));
        model.finish(id, succeeds ? 'value' : 'error');
      }),
    ),
    fc.nat().map((drawn) =>
      step('abandon', (model, subject) => {
        const entry = pick(subject.entries, drawn);
        if (entry === undefined) return;
        model.abandon(subject.entries.indexOf(entry));
        entry.abandon();
      }),
    ),
    fc.constantFrom(1, 50, 99, 100, 900, 1_000, 29_000, 30_000).map((ms) =>
      step(`${ms} ms`, (model, subject) => {
        model.advance(ms);
        subject.clock.advance(ms);
      }),
    ),
    fc.nat(9).map((drawn) =>
      step(drawn === 0 ? 'drain' : 'nothing', (model, subject) => {
        if (drawn > 0) return;
        model.draining = true;
        void subject.bulkhead.drain();
      }),
    ),
  ],
  { maxCommands: 60, size: 'max' },
);

const limits = fc
  .record({ permits: fc.integer({ min: 1, max: 4 }), queueMax: fc.nat(3), workers: fc.nat(2), inUseMax: fc.nat(4) })
  .map(({ permits, queueMax, workers, inUseMax }) => ({
    name: 'b',
    permits,
    queueMax,
    queueWaitMsMax: WAIT_MS,
    executionMsMax: EXECUTION_MS,
    background: workers === 0 ? null : { permitsMax: workers, inUseMax: Math.min(inUseMax, permits) },
  }));

/** In the end everybody lets go: then every promise has settled, nothing is in use and no timer is set. */
async function windUp(subject: Subject): Promise<void> {
  const drained = subject.bulkhead.drain();
  for (let round = 0; round < 10; round += 1) {
    for (const permit of subject.held.splice(0)) permit.release();
    for (const end of subject.told.values()) end.resolve('value');
    await flush();
  }
  const { inUse, queued } = subject.bulkhead.snapshot();
  assert.deepEqual({ inUse, queued }, { inUse: 0, queued: 0 });
  await drained;
  assert.ok(!subject.outcomes.includes(null), 'a promise that never settles');
  subject.clock.advance(10_000);
  assert.deepEqual([subject.bulkhead.snapshot().state, subject.clock.armed], ['NORMAL', 0]);
}

function property(engine: Engine) {
  return fc.asyncProperty(limits, histories, async (drawn, steps) => {
    const subject = new Subject(engine, drawn);
    await fc.asyncModelRun(() => ({ model: new Model(drawn), real: subject }), steps);
    await windUp(subject);
  });
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
class LeaksOnThrowBeforeAwait extends Bulkhead {
  private inStart = false;
  protected override start(call: Call): void {
    this.inStart = true;
    super.start(call);
    this.inStart = false;
  }
  protected override end(call: Call): void {
    if (!this.inStart) super.end(call);
  }
}
class KeepsAbandonedWaiters extends Bulkhead {
  protected override withdraw(call: Call): void {
    this.refuse(call, 'client_abort');
  }
}
class TakesAPermitBackTwice extends Bulkhead {
  protected override countViolation(): void {
    super.countViolation();
    this.inUse -= 1;
  }
}
class GivesWorkersEverything extends Bulkhead {
  protected override backgroundHasRoom(): boolean {
    return this.inUse < this.limits.permits;
  }
}
class ForgetsWhomItTimesOut extends Bulkhead {
  protected override takeExpiredWaiters(nowMs: number): null {
    super.takeExpiredWaiters(nowMs);
    return null;
  }
}
class LosesBackgroundPermits extends Bulkhead {
  protected override takeBack(takenAtMs: number): void {
    super.takeBack(takenAtMs, false);
  }
}
class CountsAbandonedTimeOuts extends Bulkhead {
  protected override timeOut(call: Call, nowMs: number): void {
    super.timeOut(call, nowMs);
    if (call.abandoned) this.observer.tell('onExecutionTimeout');
  }
}

/** Engines with one fault each, of the kinds that other systems have shipped; the properties must find every one. */
const FAULTY_BULKHEADS: Engine[] = [
  LetsNewcomersBarge,
  ServesTheLastFirst,
  FreesThePermitAtTimeOut,
  LeaksOnThrowBeforeAwait,
  KeepsAbandonedWaiters,
  TakesAPermitBackTwice,
  GivesWorkersEverything,
  ForgetsWhomItTimesOut,
  LosesBackgroundPermits,
  CountsAbandonedTimeOuts,
];

describe('a bulkhead, whatever happens to it in whatever order', () => {
  it(`does what the model does, in ${RUNS} histories`, async () => {
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
