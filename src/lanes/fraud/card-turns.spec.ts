import { FakeClock } from '../../../test/support/fake-clock';
import { CardTurns } from './card-turns';

const WAIT_MS_MAX = 500;

function deferred(): { promise: Promise<string>; resolve: (value: string) => void; reject: (error: Error) => void } {
  let resolve!: (value: string) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<string>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

function harness() {
  const clock = new FakeClock();
  const turns = new CardTurns(clock, WAIT_MS_MAX);
  const begun: string[] = [];
  /** Named by its card's letter and a number. */
  const take = (name: string) => {
    const work = deferred();
    const result = turns.take(name.charAt(0), () => {
      begun.push(name);
      return work.promise;
    });
    const code = result.then(
      (value) => value,
      (error: { code?: string; message: string }) => error.code ?? error.message,
    );
    return { ...work, code };
  };
  return { clock, turns, begun, take };
}

it('lets one evaluation of a card run at a time, in order, and others beside it', async () => {
  const { clock, turns, begun, take } = harness();
  const [a1, a2, a3, b1] = [take('a1'), take('a2'), take('a3'), take('b1')];
  await settle();
  expect([begun, turns.size]).toEqual([['a1', 'b1'], 2]);
  b1.resolve('b');
  a1.resolve('first');
  await settle();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
  a3.resolve('third');
  a2.resolve('second');
  expect(await Promise.all([a1, a2, a3, b1].map(({ code }) => code))).toEqual(['first', 'second', 'third', 'b']);
  expect([turns.size, clock.armed]).toEqual([0, 0]);
});

it('goes on after a failure, which is its own caller’s alone', async () => {
  const { turns, take } = harness();
  const [first, second] = [take('a1'), take('a2')];
  first.reject(new Error('lost'));
  second.resolve('fine');
  expect([await first.code, await second.code, turns.size]).toEqual(['lost', 'fine', 0]);
});

it('lets nobody wait longer than it may: who gives up never begins, and holds nobody up', async () => {
  const { clock, turns, begun, take } = harness();
  const hanging = take('a1');
  const early = take('a2');
  await settle();
  clock.advance(1);
  const late = take('a3');
  clock.advance(WAIT_MS_MAX - 2);
  await settle();
  expect(begun).toEqual(['a1']);
  clock.advance(1);
  expect(await early.code).toBe('ERR_CARD_BUSY');
  hanging.resolve('at last');
  await settle();
  expect(begun).toEqual(['a1', 'a3']);
  late.resolve('in time');
  expect([await hanging.code, await late.code, turns.size, clock.armed]).toEqual(['at last', 'in time', 0, 0]);
});
