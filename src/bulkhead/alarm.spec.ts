import { FakeClock } from '../../test/support/fake-clock';
import type { TimerHandle } from '../shared/clock';
import { Alarm } from './alarm';

/** Notes the delays it is asked for, and takes no handle that it has not handed out. */
class StrictClock extends FakeClock {
  readonly delaysMs: number[] = [];

  override schedule(callback: () => void, delayMs: number): TimerHandle {
    this.delaysMs.push(delayMs);
    return super.schedule(callback, delayMs);
  }

  override cancel(handle: TimerHandle): void {
    if (handle === null) throw new Error('nothing to cancel');
    super.cancel(handle);
  }
}

function build() {
  const clock = new StrictClock(5_000);
  const rings: number[] = [];
  const alarm = new Alarm(clock, () => rings.push(clock.now()));
  return { clock, rings, alarm };
}

describe('the alarm of a bulkhead', () => {
  it('rings once, when it is due', () => {
    const { clock, rings, alarm } = build();
    alarm.setFor(5_100);
    clock.advance(1_000);
    expect(rings).toEqual([5_100]);
  });

  it.each([
    ['later', 5_200],
    ['the same', 5_100],
  ])('keeps its timer for a moment that is %s', (_which, dueMs) => {
    const { clock, alarm } = build();
    alarm.setFor(5_100);
    alarm.setFor(dueMs);
    expect(clock.scheduledTotal).toBe(1);
  });

  it('moves its timer for an earlier moment, and has one only', () => {
    const { clock, rings, alarm } = build();
    alarm.setFor(5_100);
    alarm.setFor(5_050);
    const armed = clock.armed;
    clock.advance(1_000);
    expect([armed, rings]).toEqual([1, [5_050]]);
  });

  it('may be set again for a later moment once it has rung', () => {
    const { clock, rings, alarm } = build();
    alarm.setFor(5_100);
    clock.advance(100);
    alarm.setFor(5_300);
    clock.advance(1_000);
    expect(rings).toEqual([5_100, 5_300]);
  });

  it('may be set again for a later moment once it was cancelled, also twice', () => {
    const { clock, rings, alarm } = build();
    alarm.setFor(5_100);
    alarm.cancel();
    alarm.cancel();
    alarm.setFor(5_300);
    clock.advance(1_000);
    expect(rings).toEqual([5_300]);
  });

  it('asks for no delay below 0 for what is overdue', () => {
    const { clock, alarm } = build();
    alarm.setFor(4_000);
    expect(clock.delaysMs).toEqual([0]);
  });

  it('asks for no delay that a timer cannot take', () => {
    const { clock, alarm } = build();
    alarm.setFor(2 ** 40);
    expect(clock.delaysMs).toEqual([2 ** 31 - 1]);
  });

  it('is not set for never', () => {
    const { clock, alarm } = build();
    alarm.setFor(Infinity);
    expect(clock.armed).toBe(0);
  });

  it('has no timer once it is closed, and takes none', () => {
    const { clock, rings, alarm } = build();
    alarm.setFor(5_100);
    alarm.close();
    const armed = clock.armed;
    alarm.setFor(5_100);
    clock.advance(1_000);
    expect([armed, rings]).toEqual([0, []]);
  });
});
