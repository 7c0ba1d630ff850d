import type { Band, Chart } from './chart';
import { escaped } from './html';
import { hashOf, inlineJson, readPageScripts } from './page-scripts';

export interface Page {
  readonly title: string;
  readonly verdict: 'PASSED' | 'FAILED' | 'VOID';
  readonly verdictDetail: string | null;
  /** Where, when and on what. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly table: readonly VerdictRow[];
  readonly sections: readonly Section[];
}

export interface VerdictRow {
  readonly name: string;
  readonly measured: string;
  readonly limit: string;
  readonly holds: string;
  readonly broken: boolean;
}

export interface Section {
  readonly title: string;
  readonly charts: readonly Chart[];
  /** Shown as it is written. */
  readonly text?: string;
}

/** One file that shows a run without a network: the charts' library, its styles and the data are in it. */
export function renderPage({ title, verdict, verdictDetail, facts, table, sections }: Page): string {
  const { scripts, styles, licence } = readPageScripts();
  const detail = verdictDetail === null ? '' : ` <small>${escaped(verdictDetail)}</small>`;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src ${scripts.map(hashOf).join(' ')}`;
  const charts = sections.flatMap((section) => section.charts);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${escaped(`${title}: ${verdict}`)}</title>
<style>${STYLES}${styles}</style>
</head>
<body>
<h1>${escaped(title)} <span class="verdict ${verdict.toLowerCase()}">${verdict}</span>${detail}</h1>
<table class="figures">
<thead><tr><th>figure</th><th>measured</th><th>limit</th><th>holds</th></tr></thead>
<tbody>
${table.map(rowOf).join('\n')}
</tbody>
</table>
<dl>${facts.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('')}</dl>
<noscript><p>The charts are drawn by a script, and scripts are off.</p></noscript>
${sections.map((section) => sectionOf(section, charts)).join('\n')}
<script type="application/json" id="charts">${inlineJson(charts)}</script>
<!-- uPlot: ${licence} -->
${scripts.map((script) => `<script>${script}</script>`).join('\n')}
</body>
</html>
`;
}

function rowOf({ name, measured, limit, holds, broken }: VerdictRow): string {
  const cells = [name, measured, limit, holds].map((text) => `<td>${escaped(text)}</td>`).join('');
  return `<tr${broken ? ' class="broken"' : ''}>${cells}</tr>`;
}

function sectionOf({ title, charts, text }: Section, all: readonly Chart[]): string {
  const figures = charts.map((chart) => figureOf(chart, all.indexOf(chart)));
  const written = text === undefined ? '' : `<pre>${escaped(text)}</pre>`;
  return `<section><h2>${escaped(title)}</h2>${figures.join('')}${written}</section>`;
}

function figureOf(chart: Chart, index: number): string {
  const title = escaped(chart.kind === 'lines' ? `${chart.title}, ${chart.unit}` : chart.title);
  const bands = chart.kind === 'lines' ? chart.time.bands : chart.rows.flatMap((row) => row.bands);
  const place = `<div data-chart="${index}" role="img" aria-label="${title}"></div>`;
  return `<figure><figcaption>${title}</figcaption>${legendOf(bands)}${place}</figure>`;
}

/** What the colours of the bands stand for; the curves have a legend of the library's own. */
function legendOf(bands: readonly Band[]): string {
  const names = new Map(bands.map(({ name, colour }) => [name, colour]));
  const entries = [...names].map(
    ([name, colour]) => `<span><i style="background:var(--${colour})"></i>${escaped(name)}</span>`,
  );
  return entries.length === 0 ? '' : `<div class="bands">${entries.join('')}</div>`;
}

const STYLES = `
:root { color-scheme: light dark; --text: #1c1f24; --muted: #5b6470; --line: #d9dde3; --page: #ffffff;
  --blue: #1f6fb4; --orange: #c76a00; --green: #2c8a4b; --red: #c43131; --violet: #7a4fb5; --grey: #7c8693; }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --muted: #a0a8b4; --line: #353b45; --page: #16191e;
  --blue: #6db1ee; --orange: #f0a04b; --green: #6cc48a; --red: #f07b7b; --violet: #b79be6; --grey: #98a2b0; } }
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } small { font-weight: normal; color: var(--muted); }
.verdict { padding: 0.1rem 0.6rem; border-radius: 0.3rem; color: var(--page); background: var(--green); font-size: 1rem; }
.verdict.failed { background: var(--red); } .verdict.void { background: var(--grey); }
.figures { border-collapse: collapse; width: 100%; } .figures th, .figures td { padding: 0.2rem 0.6rem; text-align: right;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
.figures th:first-child, .figures td:first-child { text-align: left; }
.figures tr.broken td { color: var(--red); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; font-size: 0.9rem; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; }
.bands { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; font-size: 0.85rem; }
.bands i { display: inline-block; width: 0.8rem; height: 0.8rem; margin-right: 0.4rem; opacity: 0.6; vertical-align: middle; }
`;
