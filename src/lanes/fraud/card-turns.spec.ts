import { CardTurns } from './card-turns';

function deferred(): { promise: Promise<string>; resolve: (value: string) => void; reject: (error: Error) => void } {
  let resolve!: (value: string) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<string>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

it('lets one evaluation of a card run at a time, in order, and others beside it', async () => {
  const turns = new CardTurns();
  const begun: string[] = [];
  const works = ['a1', 'a2', 'a3', 'b1'].map((name) => ({ name, ...deferred() }));
  const results = works.map(({ name, promise }) =>
    turns.take(name.charAt(0), () => {
      begun.push(name);
      return promise;
    }),
  );
  await settle();
  expect([begun, turns.size]).toEqual([['a1', 'b1'], 2]);
  works[3]?.resolve('b');
  works[0]?.resolve('first');
  await settle();
  expect(begun).toEqual(['a1', 'b1', 'a2']);
  works[2]?.resolve('third');
  works[1]?.resolve('second');
  expect(await Promise.all(results)).toEqual(['first', 'second', 'third', 'b']);
  expect(turns.size).toBe(0);
});

it('goes on after a failure, which is its own caller’s alone', async () => {
  const turns = new CardTurns();
  const failing = deferred();
  const first = turns.take('a', () => failing.promise);
  const second = turns.take('a', () => Promise.resolve('fine'));
  failing.reject(new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  expect([await second, turns.size]).toEqual(['fine', 0]);
});
