import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '../../../../test/support/fake-clock';
import { type Part, Turns } from './turns';

/** Work of so many steps, each of half a millisecond on the clock. */
function steps(count: number, clock: FakeClock, log: string[], name: string): Part {
  let left = count;
  return (enough) => {
    while (left > 0) {
      left -= 1;
      clock.stall(0.5);
      log.push(name);
      if (enough()) break;
    }
    return left === 0;
  };
}

describe('long work', () => {
  it('has a millisecond in each round of the event loop, however many there are', async () => {
    const clock = new FakeClock();
    const turns = new Turns(clock);
    const log: string[] = [];
    const all = Promise.all([
      turns.run(steps(5, clock, log, 'a')),
      turns.run(steps(3, clock, log, 'b')),
      turns.run(steps(1, clock, log, 'c')),
    ]);
    const rounds: string[] = [];
    while (log.length < 9) {
      const before = log.length;
      await nextTurn();
      rounds.push(log.slice(before).join(''));
    }
    await all;
    expect(rounds.filter((round) => round !== '')).toEqual(['aa', 'aa', 'ab', 'bb', 'c']);
  });

  it('that fails fails alone', async () => {
    const clock = new FakeClock();
    const turns = new Turns(clock);
    const log: string[] = [];
    const failing = turns.run(() => {
      throw new Error('planted');
    });
    const other = turns.run(steps(3, clock, log, 'b'));
    await expect(failing).rejects.toThrow('planted');
    await other;
    expect(log).toHaveLength(3);
  });
});
