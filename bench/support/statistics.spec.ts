import { percentileOfSorted, spreadOf } from './statistics';

describe('figures over several runs', () => {
  test('the median of an odd number of runs is one of them, of an even number the mean of two', () => {
    expect(spreadOf([5, 1, 3])).toEqual({ runs: 3, median: 3, min: 1, max: 5 });
    expect(spreadOf([4, 1, 2, 3])).toEqual({ runs: 4, median: 2.5, min: 1, max: 4 });
  });

  test('no runs have no median', () => {
    expect(spreadOf([])).toBeNull();
  });

  test('a percentile is the smallest value that enough values do not exceed', () => {
    const values = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentileOfSorted(values, 0.99)).toBe(99);
    expect(percentileOfSorted(values, 0.999)).toBe(100);
    expect(percentileOfSorted(values, 1)).toBe(100);
  });
});
