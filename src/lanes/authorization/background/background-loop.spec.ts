import { FakeClock } from '../../../../test/support/fake-clock';
import { BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import { BackgroundLoop, type RunResult } from './background-loop';

interface Harness {
  readonly clock: FakeClock;
  readonly loop: BackgroundLoop;
  /** What the next runs do; idle when there is nothing left. */
  readonly next: (RunResult | Error)[];
  readonly runsAtMs: number[];
  readonly failures: unknown[];
}

function harness(): Harness {
  const clock = new FakeClock();
  const next: (RunResult | Error)[] = [];
  const runsAtMs: number[] = [];
  const failures: unknown[] = [];
  const loop = new BackgroundLoop({
    clock,
    run: () => {
      runsAtMs.push(clock.now());
      const result = next.shift() ?? 'idle';
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
    everyMs: 1_000,
    blockedMs: 100,
    refusedMs: 50,
    onFailed: (error) => failures.push(error),
  });
  return { clock, loop, next, runsAtMs, failures };
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left >= 0; left -= 5) {
    clock.advance(left === ms ? 0 : 5);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}

it('runs at once, again at once while there is more, and every second when there is none', async () => {
  const { clock, loop, next, runsAtMs } = harness();
  next.push('more', 'more');
  loop.start();
  await pass(clock, 2_500);
  expect(runsAtMs).toHaveLength(5);
  expect((runsAtMs.at(-1) ?? 0) - (runsAtMs.at(-2) ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect(clock.armed).toBe(1);
});

it('runs sooner when woken, once for many calls, and again where it was woken during a run', async () => {
  const { clock, loop, next, runsAtMs } = harness();
  loop.start();
  await pass(clock, 100);
  for (let n = 0; n < 50; n += 1) loop.wake(25);
  expect(clock.armed).toBe(1);
  await pass(clock, 100);
  expect(runsAtMs).toHaveLength(2);
  next.push('idle');
  clock.advance(1_000);
  loop.wake(10);
  await pass(clock, 50);
  expect(runsAtMs).toHaveLength(4);
});

it('backs off while blocked or failing, to its usual pause at most, and is not woken out of it', async () => {
  const { clock, loop, next, runsAtMs, failures } = harness();
  next.push('blocked', new Error('no database'), 'blocked', 'blocked', 'blocked', 'blocked');
  loop.start();
  await pass(clock, 50);
  loop.wake(0);
  await pass(clock, 3_700);
  const pauses = runsAtMs.slice(1).map((at, n) => at - (runsAtMs[n] ?? 0));
  expect(pauses.slice(0, 5).map((pause) => Math.round(pause / 100) * 100)).toEqual([100, 200, 400, 800, 1_000]);
  expect(failures).toHaveLength(1);
});

it('waits for a permit without counting it as a failure', async () => {
  const { clock, loop, next, runsAtMs, failures } = harness();
  next.push(new BulkheadRefusedError('bulkhead', 'full'), new BulkheadRefusedError('bulkhead', 'full'));
  loop.start();
  await pass(clock, 150);
  expect(runsAtMs).toHaveLength(3);
  expect(failures).toEqual([]);
});

it('begins nothing after it was stopped, and waits for what runs', async () => {
  const clock = new FakeClock();
  let end: (result: RunResult) => void = () => undefined;
  const loop = new BackgroundLoop({
    clock,
    run: () => new Promise((resolve) => (end = resolve)),
    everyMs: 1_000,
    blockedMs: 100,
    refusedMs: 50,
    onFailed: () => undefined,
  });
  loop.start();
  clock.advance(0);
  let stopped = false;
  const stopping = loop.stop().then(() => (stopped = true));
  await pass(clock, 100);
  expect(stopped).toBe(false);
  end('more');
  await stopping;
  loop.wake(0);
  expect(clock.armed).toBe(0);
});
