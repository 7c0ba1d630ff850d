import fc from 'fast-check';
import { LatencyHistogram } from './latency-histogram';

/** The smallest value that at least the given share of all values does not exceed. */
function naivePercentile(sorted: readonly number[], percentile: number): number {
  return sorted[Math.max(0, Math.ceil((percentile * sorted.length) / 100) - 1)] ?? Number.NaN;
}

describe('LatencyHistogram', () => {
  it('agrees with a naive sort within 0.1 % and a microsecond', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 120_000, noNaN: true }), { minLength: 1, maxLength: 400 }),
        (values) => {
          const histogram = new LatencyHistogram();
          for (const value of values) histogram.record(value);
          const sorted = [...values].sort((left, right) => left - right);
          const figures = histogram.figures();
          const pairs: [number | undefined, number][] = [
            [figures?.p50, 50],
            [figures?.p90, 90],
            [figures?.p99, 99],
            [figures?.p999, 99.9],
          ];
          for (const [measured, percentile] of pairs) {
            const exact = naivePercentile(sorted, percentile);
            expect(Math.abs((measured ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact * 0.001 + 0.0015);
          }
          expect(figures?.max).toBeCloseTo(sorted.at(-1) ?? Number.NaN, 2);
          expect(figures?.count).toBe(values.length);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('has no percentiles of nothing, also after a reset', () => {
    const histogram = new LatencyHistogram();
    expect(histogram.figures()).toBeNull();
    histogram.record(3);
    histogram.reset();
    expect(histogram.figures()).toBeNull();
  });

  it('counts what is longer than it can tell as its longest, and its maximum truly', () => {
    const histogram = new LatencyHistogram();
    histogram.record(700_000);
    expect(histogram.figures()?.max).toBe(700_000);
    expect(histogram.figures()?.p50).toBeGreaterThan(599_000);
  });
});
