import type { SecondRow } from '../load/result';
import { figuresOf, summarizeFault } from './phase-figures';
import { phasesOf } from './schedule';

const phases = phasesOf(['block', 'kill'], 2, 10);

test('kinds rotate, each fault right after its quiet phase', () => {
  expect(phases.map(({ kind, mode, pair, fromS }) => `${kind} ${mode} ${pair} ${fromS}`)).toEqual([
    'block quiet 0 0',
    'block fault 0 10',
    'kill quiet 0 20',
    'kill fault 0 30',
    'block quiet 1 40',
    'block fault 1 50',
    'kill quiet 1 60',
    'kill fault 1 70',
  ]);
});

test('an answer counts where its request was due, and what was not answered lowers the share', () => {
  const startedAtMs = 1_000_000;
  const at = (second: number, latencyMs: number) => ({
    dueMs: startedAtMs + second * 1_000,
    latencyMs,
    succeeded: true,
  });
  const row = (second: number, succeeded: number) => ({ second, due: 10, answered: succeeded, succeeded }) as SecondRow;
  const answers = [at(9.999, 10), at(10, 20), at(50, 40), at(40, 10)];
  const figures = figuresOf(phases, answers, [row(9, 10), row(10, 9), row(19, 5), row(50, 10)], startedAtMs);
  expect(figures[0]).toMatchObject({ p99Ms: 10, due: 10, succeeded: 10 });
  expect(figures[1]).toMatchObject({ p99Ms: 20, due: 20, succeeded: 14 });
  expect(figures[2]).toMatchObject({ p99Ms: null, due: 0 });
  expect(summarizeFault('block', figures)).toMatchObject({
    pairs: 2,
    p99Ratio: { runs: 2, min: 2, max: 4, median: 3 },
    succeededShare: 24 / 30,
  });
});
