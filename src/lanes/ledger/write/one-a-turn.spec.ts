import { setImmediate as nextTurn } from 'node:timers/promises';
import { OneATurn } from './one-a-turn';

it('lets one through at once, and each of the others in a round of its own, in their order', async () => {
  const turn = new OneATurn();
  const entered: string[] = [];
  const enter = async (name: string): Promise<void> => {
    const wait = turn.enter();
    if (wait !== null) await wait;
    entered.push(name);
  };
  const all = Promise.all(['a', 'b', 'c'].map(enter));
  const rounds = [entered.join('')];
  while (entered.length < 3) {
    await nextTurn();
    rounds.push(entered.join(''));
  }
  await all;
  expect(rounds.filter((seen, index) => seen !== rounds[index - 1])).toEqual(['a', 'ab', 'abc']);
  // Nobody came in the round after the last.
  await nextTurn();
  await nextTurn();
  expect(turn.enter()).toBeNull();
});
