/* global document, window, getComputedStyle, matchMedia, uPlot */
// Runs in the page of a report: draws each chart of its data (chart.ts) with uPlot into the figure that waits for it.
// It stands in the page as it is here, so it is plain JavaScript and needs nothing but uPlot.
(() => {
  'use strict';

  const HEIGHT_PX = 240;
  const ROW_PX = 34;
  const AXIS_PX = 96;
  /** Behind curves a band is a tint; in a row of its own it is what one looks at. */
  const TINT = 0.16;
  const SOLID = 0.6;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function fillBand(u, band, top, height, alpha) {
    const from = u.valToPos(band.fromS, 'x', true);
    const to = u.valToPos(band.toS, 'x', true);
    u.ctx.globalAlpha = alpha;
    u.ctx.fillStyle = colour(band.colour);
    u.ctx.fillRect(from, top, Math.max(to - from, 1), height);
  }

  /** Draws within the plot only: somebody may have zoomed into a part of it. */
  function clipped(u, draw) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    draw(ctx, bbox);
    ctx.restore();
  }

  /** A plugin: the phases behind the curves. */
  const phasesBehind = ({ bands }) => ({
    hooks: {
      drawClear: (u) =>
        clipped(u, (_ctx, { top, height }) => {
          for (const band of bands) fillBand(u, band, top, height, TINT);
        }),
    },
  });

  /** A plugin: one row of bands below the other. */
  const rowsOfBands = (rows) => ({
    hooks: {
      draw: (u) =>
        clipped(u, (_ctx, { top, height }) => {
          const each = height / rows.length;
          rows.forEach(({ bands }, row) => {
            for (const band of bands) fillBand(u, band, top + each * (row + 0.1), each * 0.8, SOLID);
          });
        }),
    },
  });

  /** A plugin: a dashed line with its name at each moment, the names one below the other. */
  const momentsInFront = ({ moments }) => ({
    hooks: {
      draw: (u) =>
        clipped(u, (ctx, { left, top, height }) => {
          const scale = window.devicePixelRatio;
          ctx.strokeStyle = ctx.fillStyle = colour('text');
          ctx.lineWidth = scale;
          ctx.setLineDash([4 * scale, 3 * scale]);
          ctx.font = `${11 * scale}px system-ui, sans-serif`;
          ctx.textBaseline = 'top';
          moments.forEach(({ atS, name }, index) => {
            const x = u.valToPos(atS, 'x', true);
            ctx.beginPath();
            ctx.moveTo(x, top);
            ctx.lineTo(x, top + height);
            ctx.stroke();
            const fits = x - left > ctx.measureText(name).width + 8 * scale;
            ctx.textAlign = fits ? 'right' : 'left';
            ctx.fillText(name, x + (fits ? -4 : 4) * scale, top + (4 + 14 * index) * scale);
          });
        }),
    },
  });

  const axis = (more) => ({
    stroke: () => colour('muted'),
    grid: { stroke: () => colour('line'), width: 1 },
    ticks: { stroke: () => colour('line'), width: 1 },
    ...more,
  });
  const seconds = axis({ values: (_u, splits) => splits.map((split) => (split === null ? '' : `${split} s`)) });

  function valueScale({ logarithmic, upTo }) {
    const top = (max) => Math.max(max ?? 0, upTo ?? 0, 1);
    return logarithmic
      ? { distr: 3, log: 10, range: (_u, _min, max) => [1, 10 ** Math.max(1, Math.ceil(Math.log10(top(max))))] }
      : { range: (_u, _min, max) => [0, top(max) * 1.05] };
  }

  /** The two ends of the time are in every chart, so that all of them cover the same. */
  const endsOf = ({ lengthS }) => [
    [0, lengthS],
    [undefined, undefined],
  ];

  function tableOf({ points }, logarithmic) {
    const drawn = (value) => (value !== null && logarithmic ? Math.max(value, 1) : value);
    return [points.map(([second]) => second), points.map(([, value]) => drawn(value))];
  }

  function seriesOf({ name, colour: of, steps }, unit) {
    return {
      label: name,
      stroke: () => colour(of),
      width: 1.6,
      ...(steps && { paths: uPlot.paths.stepped({ align: 1 }) }),
      points: { show: false },
      value: (_u, value) => (value === null || value === undefined ? '–' : `${Number(value.toFixed(3))} ${unit}`),
    };
  }

  function linesOf(chart) {
    const { series, unit, time, logarithmic } = chart;
    const [xs, , ...values] = uPlot.join([endsOf(time), ...series.map((each) => tableOf(each, logarithmic))]);
    const options = {
      height: HEIGHT_PX,
      scales: { x: { time: false }, y: valueScale(chart) },
      axes: [seconds, axis({ size: AXIS_PX })],
      series: [{ label: 'second' }, ...series.map((each) => seriesOf(each, unit))],
      plugins: [phasesBehind(time), momentsInFront(time)],
    };
    return { options, data: [xs, ...values] };
  }

  function rowsOf({ rows, time }) {
    const names = rows.map(({ name }) => name).reverse();
    const options = {
      height: ROW_PX * (rows.length + 2),
      scales: { x: { time: false }, y: { range: [0, rows.length] } },
      axes: [seconds, axis({ size: AXIS_PX, splits: () => names.map((_name, row) => row + 0.5), values: () => names })],
      series: [{ label: 'second' }, { show: false }],
      legend: { show: false },
      plugins: [rowsOfBands(rows), momentsInFront(time)],
    };
    const [xs] = endsOf(time);
    return { options, data: [xs, [null, null]] };
  }

  const charts = JSON.parse(document.getElementById('charts').textContent);
  const plots = charts.map((chart, index) => {
    const place = document.querySelector(`[data-chart="${index}"]`);
    const { options, data } = chart.kind === 'rows' ? rowsOf(chart) : linesOf(chart);
    const cursor = { sync: { key: `${chart.time.lengthS} s` } };
    return { place, plot: new uPlot({ ...options, cursor, width: place.clientWidth }, data, place) };
  });
  window.addEventListener('resize', () => {
    for (const { place, plot } of plots) plot.setSize({ width: place.clientWidth, height: plot.height });
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const { plot } of plots) plot.redraw(false);
  });
})();
