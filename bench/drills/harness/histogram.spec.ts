import { parseMetrics } from '../../support/metrics';
import { histogramBetween } from './histogram';

const LABELS = 'bulkhead="bulkhead_tax_calc"';

function metrics(counts: readonly [string, number][], other = 0) {
  const lines = counts.map(([le, count]) => `shed_seconds_bucket{le="${le}",${LABELS}} ${count}`);
  const foreign = `shed_seconds_bucket{le="0.001",bundle="x",bulkhead="bulkhead_card_auth"} ${other}`;
  return parseMetrics([...lines, foreign].join('\n'));
}

const before = metrics([
  ['0.001', 10],
  ['0.005', 10],
  ['0.01', 10],
  ['+Inf', 10],
]);

test('quantiles lie within their bucket, of what was observed between the readings alone', () => {
  const after = metrics(
    [
      ['0.001', 60],
      ['0.005', 110],
      ['0.01', 110],
      ['+Inf', 110],
    ],
    5_000,
  );
  const figures = histogramBetween('shed_seconds', LABELS, before, after);
  expect(figures?.count).toBe(100);
  expect(figures?.p50Ms).toBeCloseTo(1, 6);
  // 49 of the 50 between 1 and 5 ms.
  expect(figures?.p99Ms).toBeCloseTo(1 + (4 * 49) / 50, 6);
  expect(figures?.maxMsBound).toBe(5);
});

test('one that is longer than every bucket has no bound', () => {
  const after = metrics([
    ['0.001', 10],
    ['0.005', 10],
    ['0.01', 11],
    ['+Inf', 12],
  ]);
  const figures = histogramBetween('shed_seconds', LABELS, before, after);
  expect(figures).toMatchObject({ count: 2, p99Ms: Infinity, maxMsBound: Infinity });
});

test('nothing observed has no figures', () => {
  expect(histogramBetween('shed_seconds', LABELS, before, before)).toBeNull();
});
