import { readFileSync } from 'node:fs';
import type { Chart, TimeLine } from './chart';
import { renderPage } from './page';
import { inlineJson, readPageScripts } from './page-scripts';

const time: TimeLine = {
  lengthS: 10,
  bands: [{ fromS: 2, toS: 4, name: '<brownout>', colour: 'red' }],
  moments: [{ atS: 4, name: '</script><script>alert(1)' }],
};
const chart: Chart = {
  kind: 'lines',
  title: 'Cards & taxes',
  unit: 'ms',
  logarithmic: false,
  upTo: null,
  series: [{ name: 'p99', colour: 'blue', points: [[0, 1]] }],
  time,
};
const row = { name: 'card_p99_ms', measured: '121 ms', limit: 'at most 120 ms', holds: 'NO', broken: true };

function page(charts: readonly Chart[] = [chart]): string {
  return renderPage({
    title: 'Drill <1>',
    verdict: 'FAILED',
    verdictDetail: null,
    facts: [['commit', 'abc']],
    table: [row, { ...row, name: 'zombies', broken: false }],
    sections: [{ title: 'Latency', charts, text: 'a < b' }],
  });
}

test('names are text, whatever is in them', () => {
  const drawn = page();
  expect(drawn).toContain('Drill &lt;1&gt;');
  expect(drawn).toContain('&lt;brownout&gt;');
  expect(drawn).toContain('Cards &amp; taxes, ms');
  expect(drawn).toContain('<pre>a &lt; b</pre>');
});

test('what does not hold is marked', () => {
  expect(page().match(/class="broken"/g)).toHaveLength(1);
});

test('no text of the data ends the element that the data stand in', () => {
  const data = /<script type="application\/json" id="charts">(.*)<\/script>/.exec(page())?.[1] ?? '';
  expect(data).not.toContain('<');
  expect(JSON.parse(data)).toEqual([chart]);
  // The data, the library and the drawing, each ended once.
  expect(page().match(/<\/script>/g)).toHaveLength(3);
  expect(JSON.parse(inlineJson('<!--'))).toBe('<!--');
});

test('the scripts of the page are the library as published and ours, and the only ones that may run', () => {
  const { scripts } = readPageScripts();
  expect(scripts[0]).toBe(readFileSync(require.resolve('uplot/dist/uPlot.iife.min.js'), 'utf8'));
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page())?.[1] ?? '';
  expect(page()).toMatch(/uPlot: The MIT License[^>]*Copyright \(c\) \d+ Leon Sorokin/);
  expect(policy).toMatch(/^default-src 'none'; style-src 'unsafe-inline'; script-src( 'sha256-[\w+/]+=*'){2}$/);
});

test('nothing in the page asks for anything from anywhere', () => {
  const { scripts, styles } = readPageScripts();
  const own = [...scripts, styles].reduce((text, part) => text.replace(part, ''), page());
  expect(own).not.toMatch(/\bsrc=|\bhref=|url\(|https?:|@import/);
  expect(styles).not.toMatch(/url\(|@import/);
});
