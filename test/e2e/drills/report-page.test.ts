import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { incidentPage } from '../../../bench/drills/incidents/incident-page';
import { recoveryPage } from '../../../bench/drills/recovery/recovery-page';
import { madeUpIncident, madeUpRecovery } from '../../fixtures/drill-runs';
import { Browser, installedChromium, type LoadedPage } from '../../support/browser';
import { atEndOfFile } from '../../support/closers';

/*
 * The reports in the browser in which somebody will read them. On a machine without Chromium (Debian: `apt-get install
 * chromium`) this is skipped, and Jest says so; bench/drills/report/page.spec.ts needs none.
 */

const chromium = installedChromium();
const describeWithChromium = chromium === null ? describe.skip : describe;

interface DrawnChart {
  readonly title: string;
  /** How many points of each curve's colour, and of each band's, are on the canvas. */
  readonly curves: Readonly<Record<string, number>>;
  readonly bands: Readonly<Record<string, number>>;
}

/** In the page: counts what the canvases show, against the data that they are drawn from. */
const COUNT_DRAWN = `(() => {
  const charts = JSON.parse(document.getElementById('charts').textContent);
  const style = getComputedStyle(document.documentElement);
  const rgb = (name) => style.getPropertyValue('--' + name).trim().match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  return charts.map((chart, index) => {
    const canvas = document.querySelector('[data-chart="' + index + '"] canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    // The colour is what it is; how much of it lies there tells a curve from a tint behind it.
    const count = (name, alphaMin, alphaMax) => {
      const [red, green, blue] = rgb(name);
      let points = 0;
      for (let at = 0; at < data.length; at += 4) {
        const near = Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) + Math.abs(data[at + 2] - blue) < 40;
        if (near && data[at + 3] >= alphaMin && data[at + 3] <= alphaMax) points += 1;
      }
      return points;
    };
    const counted = (colours, alphaMin, alphaMax) =>
      Object.fromEntries([...new Set(colours)].map((name) => [name, count(name, alphaMin, alphaMax)]));
    const rows = chart.kind === 'rows';
    const bands = rows ? chart.rows.flatMap((row) => row.bands) : chart.time.bands;
    const curves = rows ? [] : chart.series.map(({ colour }) => colour);
    return {
      title: chart.title,
      curves: counted(curves, 100, 255),
      bands: counted(bands.map(({ colour }) => colour), rows ? 100 : 20, rows ? 255 : 80),
    };
  });
})()`;

const textOf = (page: LoadedPage, selector: string): Promise<string> =>
  page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);

describeWithChromium('the reports of the drills in Chromium', () => {
  let browser: Browser;
  let folder: string;

  async function load(name: string, html: string): Promise<LoadedPage> {
    const file = join(folder, `${name}.html`);
    writeFileSync(file, html);
    return browser.load(pathToFileURL(file).href);
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-core-report-'));
    atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
    browser = Browser.start(chromium ?? '');
  });

  it('the brownout: no request, no complaint, every curve and band of its data drawn', async () => {
    const page = await load('brownout', recoveryPage(madeUpRecovery()));
    expect({ requests: page.requests, complaints: page.complaints }).toEqual({ requests: [], complaints: [] });
    const drawn = await page.evaluate<DrawnChart[]>(COUNT_DRAWN);
    expect(drawn.map(({ title }) => title)).toEqual([
      'Authorization lane: cards, by the second in which they were due',
      'Tax lane: refused quotes, as their caller sees them',
      'What quotes were answered, and refused cards',
      'Permits in use',
      'States of the lanes',
      'Connections in use',
      'Memory of the process that serves the lane',
      'Permits of the tax lane in use',
    ]);
    const missing = drawn.flatMap(({ title, curves, bands }) =>
      Object.entries({ ...prefixed('curve', curves), ...prefixed('band', bands) })
        .filter(([, points]) => points < 20)
        .map(([colour]) => `${title}: ${colour}`),
    );
    expect(missing).toEqual([]);
  });

  it('the control: a curve without values leaves no point of its colour', async () => {
    const report = madeUpRecovery();
    const seconds = report.run.cut.seconds.map((second) => ({ ...second, refusalP99Ms: null }));
    const run = { ...report.run, cut: { ...report.run.cut, seconds } };
    const page = await load('control', recoveryPage({ ...report, run }));
    const drawn = await page.evaluate<DrawnChart[]>(COUNT_DRAWN);
    expect(drawn[1]?.curves).toEqual({ orange: 0 });
    expect(page.complaints).toEqual([]);
  });

  it('the verdict and its figures stand on top, then where and on what it was measured', async () => {
    const page = await load('table', recoveryPage(madeUpRecovery()));
    expect(await textOf(page, 'h1')).toMatch(/Brownout drill\s+FAILED/);
    expect(await textOf(page, 'tr.broken')).toMatch(/card_p99_ms\s+121 ms\s+at most 120 ms\s+NO/);
    const facts = await textOf(page, 'dl');
    for (const fact of ['abcdef0', 'isolated', 'a <machine>', 'v24.0.0', '18.4', 'synchronous_commit']) {
      expect(facts).toContain(fact);
    }
    const order = `[...document.body.children].map((element) => element.tagName).slice(0, 3)`;
    expect(await page.evaluate<string[]>(order)).toEqual(['H1', 'TABLE', 'DL']);
  });

  it('an incident: no request, no complaint, its answers drawn', async () => {
    const { head, seen } = madeUpIncident();
    const page = await load('incident', incidentPage(head, seen));
    expect({ requests: page.requests, complaints: page.complaints }).toEqual({ requests: [], complaints: [] });
    const drawn = await page.evaluate<DrawnChart[]>(COUNT_DRAWN);
    const answers = drawn.find(({ title }) => title.startsWith('Answers'));
    expect(Object.entries(answers?.curves ?? {}).filter(([, points]) => points > 20)).toHaveLength(2);
  });
});

function prefixed(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix} ${name}`, count]));
}
