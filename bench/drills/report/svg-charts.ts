import type { Band, Chart, ChartRenderer, Moment, Series } from './chart';
import { escaped } from './html';

const WIDTH = 960;
const HEIGHT = 220;
const MARGIN = { left: 56, right: 12, top: 10, bottom: 22 } as const;
const PLOT_WIDTH = WIDTH - MARGIN.left - MARGIN.right;
const PLOT_HEIGHT = HEIGHT - MARGIN.top - MARGIN.bottom;
const BAND_HEIGHT = 26;
const TICKS_X_MAX = 12;
const TICKS_Y = 4;

/** Lines, bands and moments as inline SVG. */
export const svgCharts: ChartRenderer = {
  styles: `
svg { display: block; width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--muted); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .moment { stroke: var(--text); stroke-width: 1; stroke-dasharray: 4 3; }
svg .curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .band { opacity: 0.16; }
svg .state { opacity: 0.55; }
.legend { display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; margin: 0.2rem 0 0.4rem; font-size: 0.85rem; }
.legend i { display: inline-block; width: 0.8rem; height: 0.2rem; margin-right: 0.4rem; vertical-align: middle; }`,

  chart(chart, time) {
    const scale = scaleOf(chart);
    const x = (second: number): number => MARGIN.left + (PLOT_WIDTH * second) / time.lengthS;
    const y = (value: number): number => MARGIN.top + PLOT_HEIGHT * (1 - scale.share(value));
    const body = [
      ...time.bands.map((band) => rectangle(band, x, MARGIN.top, PLOT_HEIGHT, 'band')),
      ...scale.ticks.map((value) => gridLine(y(value), tickText(value))),
      ...secondTicks(time.lengthS).map((second) => tickMark(x(second), second)),
      ...chart.series.map((series) => curve(series, x, y)),
      ...time.moments.map((moment) => momentLine(moment, x)),
    ];
    const title = `${chart.title}, ${chart.unit}`;
    const drawn = svg(title, HEIGHT, body);
    return `<figure><figcaption>${escaped(title)}</figcaption>${legend(chart.series)}${drawn}</figure>`;
  },

  bands(title, bands, time) {
    const x = (second: number): number => MARGIN.left + (PLOT_WIDTH * second) / time.lengthS;
    const rows = bands.map((band) => rectangle(band, x, 2, BAND_HEIGHT - 4, 'state'));
    const label = `<text x="${MARGIN.left - 6}" y="17" text-anchor="end">${escaped(title)}</text>`;
    return svg(title, BAND_HEIGHT, [label, ...rows]);
  },
};

function svg(label: string, height: number, body: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(label)}">${body.join('')}</svg>`;
}

interface Scale {
  /** From 0 at the bottom to 1 at the top. */
  share(value: number): number;
  readonly ticks: readonly number[];
}

function scaleOf({ series, upTo, logarithmic }: Chart): Scale {
  const values = series.flatMap(({ points }) => points.map(([, value]) => value ?? 0));
  const largest = values.reduce((max, value) => Math.max(max, value), Math.max(upTo ?? 0, 1));
  if (logarithmic) {
    const decades = Math.max(1, Math.ceil(Math.log10(largest)));
    return {
      share: (value) => Math.log10(Math.max(value, 1)) / decades,
      ticks: Array.from({ length: decades + 1 }, (_, power) => 10 ** power),
    };
  }
  const step = niceStep(largest / TICKS_Y);
  const top = Math.ceil(largest / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { share: (value) => value / top, ticks };
}

/** 1, 2 or 5 times a power of ten, and not below what was asked for. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((each) => each * power >= least) ?? 10;
  return factor * power;
}

function tickText(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

function secondTicks(lengthS: number): number[] {
  const step = Math.max(1, niceStep(lengthS / TICKS_X_MAX));
  return Array.from({ length: Math.floor(lengthS / step) + 1 }, (_, index) => index * step);
}

function gridLine(y: number, text: string): string {
  const line = `<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${at(y)}" y2="${at(y)}"/>`;
  return `${line}<text x="${MARGIN.left - 6}" y="${at(y + 4)}" text-anchor="end">${text}</text>`;
}

function tickMark(x: number, second: number): string {
  return `<text x="${at(x)}" y="${HEIGHT - 6}" text-anchor="middle">${second} s</text>`;
}

function momentLine({ atS, name }: Moment, x: (second: number) => number): string {
  const line = `<line class="moment" x1="${at(x(atS))}" x2="${at(x(atS))}" y1="${MARGIN.top}" y2="${MARGIN.top + PLOT_HEIGHT}"/>`;
  return `${line}<text x="${at(x(atS) - 4)}" y="${MARGIN.top + 10}" text-anchor="end">${escaped(name)}</text>`;
}

function rectangle(band: Band, x: (second: number) => number, top: number, height: number, kind: string): string {
  const width = Math.max(x(band.toS) - x(band.fromS), 0.5);
  const shape = `x="${at(x(band.fromS))}" y="${top}" width="${at(width)}" height="${height}"`;
  return `<rect class="${kind}" ${shape} fill="var(--${band.colour})"><title>${escaped(band.name)}</title></rect>`;
}

function curve({ points, colour, steps }: Series, x: (second: number) => number, y: (value: number) => number): string {
  let path = '';
  let pen = false;
  let lastY = 0;
  for (const [second, value] of points) {
    if (value === null) {
      pen = false;
      continue;
    }
    const [toX, toY] = [x(second), y(value)];
    if (pen && steps === true) path += `L${at(toX)} ${at(lastY)}`;
    path += `${pen ? 'L' : 'M'}${at(toX)} ${at(toY)}`;
    pen = true;
    lastY = toY;
  }
  return `<path class="curve" stroke="var(--${colour})" d="${path}"/>`;
}

function legend(series: readonly Series[]): string {
  const entries = series.map(
    ({ name, colour }) => `<span><i style="background:var(--${colour})"></i>${escaped(name)}</span>`,
  );
  return `<div class="legend">${entries.join('')}</div>`;
}

function at(value: number): string {
  return value.toFixed(1);
}
