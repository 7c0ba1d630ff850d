import { laneTable } from '../../../config/lanes';
import type { ResultHead } from '../../support/results';
import type { Chart, Colour, LineChart, Moment, TimeLine } from '../report/chart';
import {
  cardLatency,
  connections,
  laneSeries,
  memory,
  overSeconds,
  permits,
  type Seen,
  states,
} from '../report/lane-charts';
import { renderPage, type Section } from '../report/page';
import { placeFacts, verdictRows } from '../report/run-facts';
import type { Options } from './command';
import { recoveryMs } from './cut';
import { limits, type Verdict } from './figures';
import { renderPairs } from './print';
import type { RecoveryRun } from './recovery-run';
import type { PhaseKind } from './schedule';

export interface RecoveryReport {
  readonly head: ResultHead;
  readonly options: Pick<Options, 'cardsPerS' | 'quotesPerS' | 'latencyMs'>;
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

/** The whole run on one page. */
export function recoveryPage({ head, options, run, verdict }: RecoveryReport): string {
  return renderPage({
    title: 'Brownout drill',
    verdict: verdict.verdict,
    verdictDetail: verdict.voidReason,
    table: verdictRows(verdict),
    facts: [
      ['topology', run.topology],
      ['load', `${options.cardsPerS} authorizations/s, ${options.quotesPerS} quotes/s in a brownout`],
      ['provider', `${options.latencyMs} ms when slow, 10 ms when well`],
      ...placeFacts(head),
      ['alerts', Object.keys(run.alerts).length === 0 ? 'none' : JSON.stringify(run.alerts)],
      ['looks at the lanes without an answer', String(run.missedLooks)],
    ],
    sections: sectionsOf(run),
  });
}

function sectionsOf(run: RecoveryRun): Section[] {
  const { startedAtMs, cut, samples } = run;
  const seen: Seen = { startedAtMs, seconds: cut.seconds, samples, time: timeLineOf(run) };
  return [
    { title: 'Latency', charts: [cardLatency(seen), refusalLatency(seen)] },
    { title: 'Rejections', charts: [rejections(seen)] },
    { title: 'Permits', charts: [permits(seen), states(seen)] },
    { title: 'Connections', charts: [connections(seen)] },
    { title: 'Memory', charts: [memory(seen)] },
    { title: 'The recovery', charts: [recovery(run)] },
    { title: 'Pairs', charts: [], text: renderPairs(run) },
  ];
}

function timeLineOf(run: RecoveryRun): TimeLine {
  const { phases, startedAtMs, restoredAtMs, load } = run;
  return {
    lengthS: load.durationS,
    bands: phases.map(({ kind, fromS, toS }) => ({ fromS, toS, name: kind, colour: phaseColours[kind] })),
    moments: recoveryMoments(run, (restoredAtMs - startedAtMs) / 1_000),
  };
}

/** The provider's restoration, and the moment from which the tax lane was itself again. */
function recoveryMoments({ samples, restoredAtMs }: RecoveryRun, restoredAtS: number): Moment[] {
  const tookMs = recoveryMs(samples.tax, restoredAtMs);
  const restored = { atS: restoredAtS, name: 'provider well again' };
  if (tookMs === null) return [restored];
  const recovered = `tax lane recovered after ${(tookMs / 1_000).toFixed(2)} s`;
  return [restored, { atS: restoredAtS + tookMs / 1_000, name: recovered }];
}

function refusalLatency(seen: Seen): LineChart {
  return {
    kind: 'lines',
    title: 'Tax lane: refused quotes, as their caller sees them',
    unit: 'ms',
    logarithmic: false,
    upTo: null,
    series: [{ name: 'p99', colour: 'orange', points: overSeconds(seen, ({ refusalP99Ms }) => refusalP99Ms) }],
    time: seen.time,
  };
}

function rejections(seen: Seen): LineChart {
  return {
    kind: 'lines',
    title: 'What quotes were answered, and refused cards',
    unit: 'per second',
    logarithmic: false,
    upTo: null,
    series: [
      { name: 'quotes refused, with an estimate', colour: 'orange', points: overSeconds(seen, (s) => s.quotesRefused) },
      { name: 'quotes whose call failed', colour: 'red', points: overSeconds(seen, (s) => s.quotesFailed) },
      { name: 'quotes answered by the provider', colour: 'green', points: overSeconds(seen, (s) => s.quotesAnswered) },
      { name: 'cards refused', colour: 'blue', points: overSeconds(seen, (s) => s.cardsRefused) },
    ],
    time: seen.time,
  };
}

/** From so long before the provider is well again. */
const BEFORE_S = 2;

/** The permits of the tax lane around the recovery, on a time of its own. */
function recovery(run: RecoveryRun): Chart {
  const { samples, restoredAtMs, startedAtMs, load, cut } = run;
  const fromMs = restoredAtMs - BEFORE_S * 1_000;
  const time: TimeLine = {
    lengthS: load.durationS - (fromMs - startedAtMs) / 1_000,
    bands: [],
    moments: [
      ...recoveryMoments(run, BEFORE_S),
      { atS: BEFORE_S + limits.recoveryMs / 1_000, name: 'the limit of the recovery' },
    ],
  };
  const seen: Seen = { startedAtMs: fromMs, seconds: cut.seconds, samples, time };
  return {
    kind: 'lines',
    title: 'Permits of the tax lane in use',
    unit: 'permits',
    logarithmic: false,
    upTo: laneTable.tax.bulkhead.permits,
    series: [laneSeries(seen, 'tax', ({ inUse }) => inUse)],
    time,
  };
}
