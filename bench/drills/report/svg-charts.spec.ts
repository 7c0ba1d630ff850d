import type { Chart, TimeLine } from './chart';
import { renderPage } from './page';
import { svgCharts } from './svg-charts';

const time: TimeLine = {
  lengthS: 10,
  bands: [{ fromS: 2, toS: 4, name: '<brownout>', colour: 'red' }],
  moments: [{ atS: 4, name: 'well & good' }],
};

function chart(points: Chart['series'][number]['points'], logarithmic = false): string {
  const series = [{ name: 'p99', colour: 'blue' as const, points }];
  return svgCharts.chart({ title: 'Cards', unit: 'ms', logarithmic, upTo: null, series }, time);
}

const pathOf = (drawn: string): string => /<path[^>]* d="([^"]*)"/.exec(drawn)?.[1] ?? '';

test('a second in which nothing was measured is a gap, not a line', () => {
  expect(
    pathOf(
      chart([
        [0, 1],
        [1, 2],
        [2, null],
        [3, 4],
        [4, 5],
      ]),
    ).match(/M/g),
  ).toHaveLength(2);
});

test.each([
  ['no values', []],
  ['zeros only', [[0, 0]]],
  [
    'values over five decades',
    [
      [0, 0.001],
      [1, 99_999],
    ],
  ],
] as const)('%s: every coordinate is a number within the drawing', (_name, points) => {
  for (const logarithmic of [false, true]) {
    const drawn = chart(points, logarithmic);
    expect(drawn).not.toMatch(/NaN|Infinity|undefined/);
    const heights = [...pathOf(drawn).matchAll(/[ML][\d.-]+ ([\d.-]+)/g)].map(([, y]) => Number(y));
    for (const y of heights) expect(y >= 0 && y <= 220).toBe(true);
  }
});

test('names are text, whatever is in them', () => {
  const drawn = chart([[0, 1]]);
  expect(drawn).toContain('&lt;brownout&gt;');
  expect(drawn).toContain('well &amp; good');
});

test('a page needs nothing from anywhere, runs nothing and marks what does not hold', () => {
  const row = { name: 'card_p99_ms', measured: '121 ms', limit: 'at most 120 ms', holds: 'NO', broken: true };
  const page = renderPage(
    {
      title: 'Drill <1>',
      verdict: 'FAILED',
      verdictDetail: null,
      facts: [['commit', 'abc']],
      table: [row, { ...row, name: 'zombies', broken: false }],
      sections: [{ title: 'Latency', body: chart([[0, 1]]) }],
    },
    svgCharts,
  );
  expect(page).not.toMatch(/<script|\bsrc=|\bhref=|url\(|https?:|@import/);
  expect(page).toContain("default-src 'none'");
  expect(page).toContain('Drill &lt;1&gt;');
  expect(page.match(/class="broken"/g)).toHaveLength(1);
});
