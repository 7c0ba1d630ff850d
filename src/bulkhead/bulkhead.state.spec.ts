import { FakeClock } from '../../test/support/fake-clock';
import { Bulkhead } from './bulkhead';
import type { Permit } from './bulkhead';

/** Permits, queue, the first occupancy that is not below 60 %, the first that is under pressure (contract 3 and 5). */
const LANES = [
  { name: 'bulkhead_card_auth', permits: 75, queueMax: 10, recoveryBelow: 45, pressureFrom: 60 },
  { name: 'bulkhead_fraud_eval', permits: 30, queueMax: 5, recoveryBelow: 18, pressureFrom: 24 },
  { name: 'bulkhead_tax_calc', permits: 15, queueMax: 0, recoveryBelow: 9, pressureFrom: 12 },
] as const;
type Lane = (typeof LANES)[number];

class Stage {
  readonly clock = new FakeClock();
  readonly changes: string[] = [];
  readonly bulkhead: Bulkhead;
  private readonly permits: Permit[] = [];

  constructor(readonly lane: Lane) {
    const { name, permits, queueMax } = lane;
    this.bulkhead = new Bulkhead(
      { name, permits, queueMax, queueWaitMsMax: 100, executionMsMax: 10_000, background: null },
      this.clock,
      { onStateChanged: (from, to) => this.changes.push(`${from} → ${to}`) },
    );
  }

  /** Acquires or releases until exactly so many permits are in use. */
  hold(inUse: number): this {
    while (this.permits.length < inUse) {
      const permit = this.bulkhead.tryAcquire();
      if (typeof permit === 'string') throw new Error(permit);
      this.permits.push(permit);
    }
    while (this.permits.length > inUse) this.permits.pop()?.release();
    return this;
  }

  queue(waiters: number): this {
    for (let waiter = 0; waiter < waiters; waiter += 1) this.bulkhead.enter(() => {}).result.catch(() => {});
    return this;
  }

  /** All permits in use and the queue full, then the queue empty again because its waiters waited too long. */
  saturate(): this {
    this.hold(this.lane.permits).queue(this.lane.queueMax);
    this.clock.advance(100);
    return this;
  }

  get state(): string {
    return this.bulkhead.snapshot().state;
  }
}

describe.each(LANES)('test_bulkhead_state_transitions [MC-ST-01] $name', (lane) => {
  const { permits, queueMax, recoveryBelow, pressureFrom } = lane;

  it('is NORMAL with one permit free', () => {
    expect(new Stage(lane).hold(permits - 1).state).toBe('NORMAL');
  });

  it('is SATURATED only when every permit is in use and the queue is full', () => {
    const stage = new Stage(lane).hold(permits);
    const states = [stage.queue(Math.max(queueMax - 1, 0)).state, stage.queue(Math.min(queueMax, 1)).state];
    expect(states).toEqual([queueMax === 0 ? 'SATURATED' : 'NORMAL', 'SATURATED']);
  });

  it('is SATURATED by works as by permits taken by hand, from the moment the last of them begins', () => {
    const stage = new Stage(lane).hold(permits - 1);
    let seen = '';
    const last = stage.bulkhead.enter(() => {
      seen = stage.queue(queueMax).state;
      return new Promise<never>(() => {});
    });
    last.result.catch(() => {});
    expect(seen).toBe('SATURATED');
  });

  it.each([
    [recoveryBelow + 1, 'SATURATED'],
    [recoveryBelow, 'SATURATED'],
    [recoveryBelow - 1, 'RECOVERING'],
  ])('with %i in use after saturation is %s', (inUse, state) => {
    expect(new Stage(lane).saturate().hold(inUse).state).toBe(state);
  });

  it.each([
    [9_999, 'RECOVERING'],
    [10_000, 'NORMAL'],
    [10_001, 'NORMAL'],
  ])('after %i ms below the line is %s, with nobody there to ask', (ms, state) => {
    const stage = new Stage(lane).saturate().hold(recoveryBelow - 1);
    stage.clock.advance(ms);
    expect(stage.state).toBe(state);
  });

  it.each([
    [recoveryBelow - 1, 'NORMAL'],
    [recoveryBelow, 'RECOVERING'],
    [recoveryBelow + 1, 'RECOVERING'],
  ])('a rise to %i in use after 9 s leaves it %s a second later', (inUse, state) => {
    const stage = new Stage(lane).saturate().hold(0);
    stage.clock.advance(9_000);
    stage.hold(inUse).hold(0).clock.advance(1_000);
    expect(stage.state).toBe(state);
  });

  it('starts its 10 s anew after a rise', () => {
    const stage = new Stage(lane).saturate().hold(0);
    stage.clock.advance(9_000);
    stage.hold(recoveryBelow).hold(0);
    stage.clock.advance(9_999);
    const before = stage.state;
    stage.clock.advance(1);
    expect([before, stage.state]).toEqual(['RECOVERING', 'NORMAL']);
  });

  it('is SATURATED again when it fills up while recovering', () => {
    expect(new Stage(lane).saturate().hold(0).saturate().state).toBe('SATURATED');
  });

  it('tells of each change once', () => {
    const stage = new Stage(lane).saturate().hold(0);
    stage.clock.advance(20_000);
    expect(stage.changes).toEqual(['NORMAL → SATURATED', 'SATURATED → RECOVERING', 'RECOVERING → NORMAL']);
  });

  it.each([
    [pressureFrom - 1, false],
    [pressureFrom, true],
    [pressureFrom + 1, true],
  ])('with %i in use reports pressure: %s', (inUse, pressure) => {
    expect(new Stage(lane).hold(inUse).bulkhead.snapshot().pressure).toBe(pressure);
  });

  it('reports no pressure in a state that says more', () => {
    expect(new Stage(lane).saturate().bulkhead.snapshot().pressure).toBe(false);
  });

  it('gives a free permit in every state, because the state is only a signal', () => {
    const stage = new Stage(lane).saturate().hold(permits - 1);
    expect([stage.state, typeof stage.bulkhead.tryAcquire()]).toEqual(['SATURATED', 'object']);
  });

  it('has no timer while it is idle and NORMAL, nor while only permits could change its state', () => {
    const stage = new Stage(lane);
    const idle = stage.clock.armed;
    stage.hold(permits - 1);
    expect([idle, stage.clock.armed]).toEqual([0, 0]);
  });

  it('has one timer while it recovers, and none afterwards', () => {
    const stage = new Stage(lane).saturate().hold(0);
    const recovering = stage.clock.armed;
    stage.clock.advance(10_000);
    expect([recovering, stage.clock.armed]).toEqual([1, 0]);
  });
});
