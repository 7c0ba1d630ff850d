import { TimeSeries } from './time-series';

describe('TimeSeries', () => {
  it('counts an answer in the second its request was due, however late it came', () => {
    const series = new TimeSeries();
    const early = series.start(999);
    const late = series.start(1_000);
    series.start(5_000);
    series.end(late, 10, 'answered', 'succeeded');
    series.end(early, 4_100, 'answered', 'refused5xx');
    expect(series.finish()).toMatchObject([
      { second: 0, due: 1, answered: 1, refused5xx: 1, succeeded: 0, p50Ms: 4_100, maxMs: 4_100 },
      { second: 1, due: 1, answered: 1, succeeded: 1, maxMs: 10 },
      { second: 5, due: 1, answered: 0, p50Ms: null },
    ]);
  });

  it('does not mix the latencies of two seconds that use one histogram after the other', () => {
    const series = new TimeSeries();
    for (let second = 0; second < 50; second += 1) {
      const cell = series.start(second * 1_000);
      series.end(cell, second + 1, 'answered', 'succeeded');
    }
    expect(series.finish().map((row) => row.maxMs)).toEqual(Array.from({ length: 50 }, (_, second) => second + 1));
  });
});
