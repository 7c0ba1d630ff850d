import fc from 'fast-check';
import { FakeClock } from '../../test/support/fake-clock';
import { LaneStateMachine, laneStateThresholds } from './lane-state';
import type { LaneState } from './lane-state';

interface Sample {
  afterMs: number;
  occupancy: number;
  full: boolean;
}

/** The contract's sentences, one second after another, with nothing remembered but how long the lane was below. */
function statesBySecond(samples: Sample[], recoveryBelow: number): LaneState[] {
  let state: LaneState = 'NORMAL';
  let occupancy = 0;
  let secondsBelow = 0;
  return samples.map((sample) => {
    for (let second = 0; second < sample.afterMs / 1_000; second += 1) {
      secondsBelow = state === 'RECOVERING' && occupancy < recoveryBelow ? secondsBelow + 1 : 0;
      if (secondsBelow === 10) state = 'NORMAL';
    }
    occupancy = sample.occupancy;
    if (occupancy >= recoveryBelow) secondsBelow = 0;
    if (sample.full) state = 'SATURATED';
    else if (state === 'SATURATED' && occupancy < recoveryBelow) {
      state = 'RECOVERING';
      secondsBelow = 0;
    }
    return state;
  });
}

describe('the state of a lane [MC-ST-01]', () => {
  it('follows the contract through every history of occupancies', () => {
    const sample = fc.record({
      afterMs: fc.integer({ min: 0, max: 12 }).map((seconds) => seconds * 1_000),
      occupancy: fc.integer({ min: 0, max: 10 }),
    });
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 40 }), (drawn) => {
        const samples = drawn.map((one) => ({ ...one, full: one.occupancy === 10 }));
        const clock = new FakeClock();
        const machine = new LaneStateMachine(laneStateThresholds(10), clock);
        const states = samples.map(({ afterMs, occupancy }) => {
          clock.advance(afterMs);
          machine.observe(occupancy);
          return machine.state;
        });
        expect(states).toEqual(statesBySecond(samples, 6));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [75, 45, 60],
    [30, 18, 24],
    [15, 9, 12],
    [10_000, 6_000, 8_000],
  ])('of %i recovers below %i and is under pressure from %i', (full, recoveryBelow, pressureFrom) => {
    expect(laneStateThresholds(full)).toEqual({ full, recoveryBelow, pressureFrom });
  });

  it('is SATURATED below its full figure when the observer says it is full, as a ledger that had to refuse', () => {
    const machine = new LaneStateMachine(laneStateThresholds(10_000), new FakeClock());
    machine.observe(9_990, true);
    expect(machine.state).toBe('SATURATED');
  });

  it('has been NORMAL in between when a late timer finds it full again after more than 10 s', () => {
    const clock = new FakeClock();
    const changes: string[] = [];
    const machine = new LaneStateMachine(laneStateThresholds(10), clock, (from, to) => changes.push(`${from} ${to}`));
    machine.observe(10);
    machine.observe(0);
    clock.advance(10_500);
    machine.observe(10);
    expect(changes.slice(2)).toEqual(['RECOVERING NORMAL', 'NORMAL SATURATED']);
  });

  it('has finished its change when it tells of it', () => {
    const seen: string[] = [];
    const machine = new LaneStateMachine(laneStateThresholds(10), new FakeClock(), (_from, to) => {
      seen.push(`${to} ${machine.state}`);
      if (to === 'SATURATED') machine.observe(0);
    });
    machine.observe(10);
    expect(seen).toEqual(['SATURATED SATURATED', 'RECOVERING RECOVERING']);
  });

  it('is due at a time only while time alone can change it', () => {
    const clock = new FakeClock(1_000);
    const machine = new LaneStateMachine(laneStateThresholds(10), clock);
    const dueMs = [10, 5, 6, 5].map((occupancy) => {
      machine.observe(occupancy);
      return machine.dueMs;
    });
    expect(dueMs).toEqual([Infinity, 11_000, Infinity, 11_000]);
  });
});
