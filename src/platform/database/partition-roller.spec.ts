import { settle } from '../../../test/fixtures/authorization-groups';
import { FakeClock } from '../../../test/support/fake-clock';
import { PartitionRoller } from './partition-roller';

const HOUR_MS = 3_600_000;

function harness(roll: () => Promise<number | null>) {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const asked: number[] = [];
  const roller = new PartitionRoller<number>({
    clock,
    roll: () => {
      asked.push(clock.now());
      return roll();
    },
    onRolled: (generation) => told.push(generation),
    onFailed: (error) => told.push(error),
  });
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settle();
  };
  return { clock, roller, told, asked, pass };
}

it('asks at the start and each hour, and tells what was rolled', async () => {
  const { roller, asked, told, pass } = harness(() => Promise.resolve(asked.length === 2 ? 7 : null));
  await roller.start();
  expect(asked).toHaveLength(1);
  await pass(HOUR_MS - 1);
  expect(asked).toHaveLength(1);
  await pass(1);
  await pass(HOUR_MS);
  expect(asked).toHaveLength(3);
  expect(told).toEqual([7]);
});

it('tries again a minute after a failure, and tells of it', async () => {
  const failure = new Error('busy');
  let failing = true;
  const { roller, asked, told, pass } = harness(() => (failing ? Promise.reject(failure) : Promise.resolve(null)));
  await roller.start();
  failing = false;
  await pass(60_000);
  expect([asked.length, told]).toEqual([2, [failure]]);
  await pass(60_000);
  expect(asked).toHaveLength(2);
});

it('asks nothing more once it is stopped, and waits for what it asked', async () => {
  let finish!: (generation: number | null) => void;
  const { roller, asked, clock, pass } = harness(() => new Promise((resolve) => (finish = resolve)));
  void roller.start();
  let stopped = false;
  const stopping = roller.stop().then(() => (stopped = true));
  await settle();
  expect(stopped).toBe(false);
  finish(null);
  await stopping;
  await pass(10 * HOUR_MS);
  await roller.start();
  expect([asked.length, clock.armed]).toEqual([1, 0]);
});
