import { type Lane, LANES } from '../../../config/lanes';
import { describeDurability } from '../../support/durability';
import type { ResultHead } from '../../support/results';
import type { LaneSample } from '../harness/lane-watch';
import type { Band, Chart, Colour, Series, TimeLine } from '../report/chart';
import { escaped } from '../report/html';
import { renderPage, type Section } from '../report/page';
import { svgCharts } from '../report/svg-charts';
import type { Options } from './command';
import type { Second } from './cut';
import { limits, type Verdict } from './figures';
import { holdsOf, limitOf, renderPairs, valueOf } from './print';
import type { RecoveryRun } from './recovery-run';
import type { PhaseKind } from './schedule';

export interface RecoveryReport {
  readonly head: ResultHead;
  readonly options: Options;
  readonly run: RecoveryRun;
  readonly verdict: Verdict;
}

const phaseColours: Readonly<Record<PhaseKind, Colour>> = {
  warm: 'grey',
  settle: 'grey',
  quiet: 'green',
  brownout: 'orange',
  main: 'red',
  recovery: 'blue',
};
const stateColours: Readonly<Record<LaneSample['state'], Colour>> = {
  NORMAL: 'green',
  SATURATED: 'red',
  RECOVERING: 'orange',
};
const laneColours: Readonly<Record<Lane, Colour>> = {
  authorization: 'blue',
  fraud: 'violet',
  tax: 'orange',
  ledger: 'grey',
};

/** The whole run on one page. */
export function recoveryPage({ head, options, run, verdict }: RecoveryReport): string {
  const { machine, durability } = head;
  const { load } = run;
  const page = {
    title: 'Brownout drill',
    verdict: verdict.verdict,
    verdictDetail: verdict.voidReason,
    table: Object.entries(verdict.figures).map(([name, figure]) => ({
      name,
      measured: valueOf(figure),
      limit: limitOf(figure),
      holds: holdsOf(figure),
      broken: figure.gates && !figure.holds,
    })),
    facts: [
      ['started', load.startedAt],
      ['commit', head.commit ?? 'unknown'],
      ['topology', run.topology],
      ['load', `${options.cardsPerS} authorizations/s, ${options.quotesPerS} quotes/s in a brownout`],
      ['provider', `${options.latencyMs} ms when slow, 10 ms when well`],
      ['machine', `${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, kernel ${machine.kernel}`],
      ['versions', `Node ${machine.node}, PostgreSQL ${durability.server_version}`],
      ['durability', describeDurability(durability)],
      ['alerts', Object.keys(run.alerts).length === 0 ? 'none' : JSON.stringify(run.alerts)],
      ['looks at the lanes without an answer', String(run.missedLooks)],
    ] as const,
    sections: sectionsOf(run),
  };
  return renderPage(page, svgCharts);
}

function sectionsOf(run: RecoveryRun): Section[] {
  const time = timeLineOf(run);
  const draw = (charts: readonly Chart[]): string => charts.map((chart) => svgCharts.chart(chart, time)).join('');
  return [
    { title: 'Phases', body: svgCharts.bands('phase', time.bands, time) + phaseLegend(run) },
    { title: 'Latency', body: draw([cardLatency(run), refusalLatency(run)]) },
    { title: 'What quotes were answered', body: draw([quoteAnswers(run)]) },
    { title: 'Permits', body: draw([permits(run)]) + states(run, time) },
    { title: 'Connections', body: draw([connections(run)]) },
    { title: 'The recovery', body: svgCharts.chart(recovery(run), recoveryTime(run)) },
    { title: 'Pairs', body: `<pre>${escaped(renderPairs(run))}</pre>` },
  ];
}

function timeLineOf({ phases, startedAtMs, restoredAtMs, load }: RecoveryRun): TimeLine {
  return {
    lengthS: load.durationS,
    bands: phases.map(({ kind, fromS, toS }) => ({ fromS, toS, name: kind, colour: phaseColours[kind] })),
    moments: [{ atS: (restoredAtMs - startedAtMs) / 1_000, name: 'provider well again' }],
  };
}

function phaseLegend({ phases }: RecoveryRun): string {
  const kinds = [...new Set(phases.map(({ kind }) => kind))];
  const entries = kinds.map((kind) => `<span><i style="background:var(--${phaseColours[kind]})"></i>${kind}</span>`);
  return `<div class="legend">${entries.join('')}</div>`;
}

function overSeconds({ cut }: RecoveryRun, value: (second: Second) => number | null): Series['points'] {
  return cut.seconds.map((second) => [second.second, value(second)]);
}

function cardLatency(run: RecoveryRun): Chart {
  return {
    title: 'Cards, by the second in which they were due',
    unit: 'ms, logarithmic',
    logarithmic: true,
    upTo: limits.cardP99Ms,
    series: [
      { name: 'p99', colour: 'blue', points: overSeconds(run, ({ cardsP99Ms }) => cardsP99Ms) },
      { name: 'p50', colour: 'green', points: overSeconds(run, ({ cardsP50Ms }) => cardsP50Ms) },
      { name: 'limit of p99', colour: 'red', points: overSeconds(run, () => limits.cardP99Ms) },
    ],
  };
}

function refusalLatency(run: RecoveryRun): Chart {
  return {
    title: 'Refused quotes, as their caller sees them',
    unit: 'ms',
    logarithmic: false,
    upTo: null,
    series: [{ name: 'p99', colour: 'orange', points: overSeconds(run, ({ refusalP99Ms }) => refusalP99Ms) }],
  };
}

function quoteAnswers(run: RecoveryRun): Chart {
  return {
    title: 'Quotes and refused cards',
    unit: 'per second',
    logarithmic: false,
    upTo: null,
    series: [
      { name: 'quotes refused, with an estimate', colour: 'orange', points: overSeconds(run, (s) => s.quotesRefused) },
      { name: 'quotes whose call failed', colour: 'red', points: overSeconds(run, (s) => s.quotesFailed) },
      { name: 'quotes answered by the provider', colour: 'green', points: overSeconds(run, (s) => s.quotesAnswered) },
      { name: 'cards refused', colour: 'blue', points: overSeconds(run, (s) => s.cardsRefused) },
    ],
  };
}

function perLane(run: RecoveryRun, value: (sample: LaneSample) => number, lanes: readonly Lane[] = LANES): Series[] {
  return lanes.map((lane) => ({
    name: lane,
    colour: laneColours[lane],
    steps: true,
    points: run.samples[lane]
      .map((sample) => [(sample.atMs - run.startedAtMs) / 1_000, value(sample)] as const)
      .filter(([second]) => second >= 0 && second <= run.load.durationS),
  }));
}

function permits(run: RecoveryRun): Chart {
  const series = perLane(run, ({ inUse }) => inUse);
  return { title: 'Permits in use', unit: 'permits', logarithmic: false, upTo: null, series };
}

function connections(run: RecoveryRun): Chart {
  const series = perLane(run, ({ poolBusy }) => poolBusy);
  return { title: 'Connections in use', unit: 'connections', logarithmic: false, upTo: null, series };
}

/** The states of the lanes, one row each. */
function states(run: RecoveryRun, time: TimeLine): string {
  const rows = LANES.map((lane) => svgCharts.bands(lane, statesOf(run, run.samples[lane]), time));
  const entries = Object.entries(stateColours).map(
    ([state, colour]) => `<span><i style="background:var(--${colour})"></i>${state}</span>`,
  );
  return `<div class="legend">${entries.join('')}</div>${rows.join('')}`;
}

function statesOf({ startedAtMs, load }: RecoveryRun, samples: readonly LaneSample[]): Band[] {
  const bands: Band[] = [];
  for (const { atMs, state } of samples) {
    const atS = Math.min(Math.max((atMs - startedAtMs) / 1_000, 0), load.durationS);
    const last = bands.at(-1);
    if (last !== undefined) bands[bands.length - 1] = { ...last, toS: atS };
    if (last?.name !== state) bands.push({ fromS: atS, toS: atS, name: state, colour: stateColours[state] });
  }
  return bands;
}

/** From 2 s before the provider is well again. */
const BEFORE_S = 2;

function recoveryTime({ startedAtMs, restoredAtMs, load }: RecoveryRun): TimeLine {
  const restoredS = (restoredAtMs - startedAtMs) / 1_000;
  const moments = [
    { atS: BEFORE_S, name: 'provider well again' },
    { atS: BEFORE_S + limits.recoveryMs / 1_000, name: 'limit' },
  ];
  return { lengthS: load.durationS - restoredS + BEFORE_S, bands: [], moments };
}

function recovery(run: RecoveryRun): Chart {
  const fromS = (run.restoredAtMs - run.startedAtMs) / 1_000 - BEFORE_S;
  const shifted = perLane(run, ({ inUse }) => inUse, ['tax']).map((series) => ({
    ...series,
    points: series.points
      .filter(([second]) => second >= fromS)
      .map(([second, value]) => [second - fromS, value] as const),
  }));
  return { title: 'Permits of the tax lane in use', unit: 'permits', logarithmic: false, upTo: 15, series: shifted };
}
