import { flushFigures } from './server-figures';

function reading(buckets: Readonly<Record<string, number>>): Map<string, number> {
  return new Map(Object.entries(buckets).map(([le, value]) => [`ledger_flush_seconds_bucket{le="${le}"}`, value]));
}

it('tells percentiles of the time between two readings, within their buckets', () => {
  const before = reading({ '0.01': 10, '0.018': 10, '0.025': 10, '+Inf': 10 });
  const after = reading({ '0.01': 60, '0.018': 109, '0.025': 110, '+Inf': 110 });
  expect(flushFigures(before, after)).toEqual({
    count: 100,
    p50Ms: 10,
    p99Ms: 18,
    p999Ms: 24.3,
    withinTargetShare: 0.99,
  });
});

it('knows of nothing beyond the last edge, and says nothing of no flushes', () => {
  const none = reading({ '0.018': 5, '+Inf': 5 });
  expect(flushFigures(none, none)).toBeNull();
  expect(flushFigures(none, reading({ '0.018': 5, '+Inf': 6 }))?.p50Ms).toBe(18);
});

it('does not guess at a target that is no edge', () => {
  expect(() => flushFigures(new Map(), reading({ '0.02': 5, '+Inf': 5 }))).toThrow('no bucket of 18 ms');
});
