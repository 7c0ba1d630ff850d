import { type Lane, LANES } from '../../../config/lanes';
import type { LaneSample, LaneSamples } from '../harness/lane-watch';
import type { Second } from '../recovery/cut';
import { limits } from '../recovery/figures';
import type { Band, Chart, Colour, LineChart, Series, TimeLine } from './chart';

/** What a drill saw of the cards and the lanes, second by second. */
export interface Seen {
  /** Of the measured time, on the wall clock. */
  readonly startedAtMs: number;
  readonly seconds: readonly Second[];
  readonly samples: LaneSamples;
  readonly time: TimeLine;
}

const laneColours: Readonly<Record<Lane, Colour>> = {
  authorization: 'blue',
  fraud: 'violet',
  tax: 'orange',
  ledger: 'green',
};
const stateColours: Readonly<Record<LaneSample['state'], Colour>> = {
  NORMAL: 'green',
  SATURATED: 'red',
  RECOVERING: 'orange',
};

export function overSeconds({ seconds }: Seen, value: (second: Second) => number | null): Series['points'] {
  return seconds.map((second) => [second.second, value(second)]);
}

/** The lane of the cards. */
export function cardLatency(seen: Seen): LineChart {
  return {
    kind: 'lines',
    title: 'Authorization lane: cards, by the second in which they were due',
    unit: 'ms',
    logarithmic: true,
    upTo: limits.cardP99Ms,
    series: [
      { name: 'p99', colour: 'blue', points: overSeconds(seen, ({ cardsP99Ms }) => cardsP99Ms) },
      { name: 'p50', colour: 'green', points: overSeconds(seen, ({ cardsP50Ms }) => cardsP50Ms) },
      { name: 'limit of p99', colour: 'red', points: overSeconds(seen, () => limits.cardP99Ms) },
    ],
    time: seen.time,
  };
}

export function permits(seen: Seen): LineChart {
  return perSample('Permits in use', 'permits', seen, ({ inUse }) => inUse);
}

export function connections(seen: Seen): LineChart {
  return perSample('Connections in use', 'connections', seen, ({ poolBusy }) => poolBusy);
}

export function memory(seen: Seen): LineChart {
  return perSample('Memory of the process that serves the lane', 'MiB', seen, ({ rssMiB }) => Math.round(rssMiB));
}

function perSample(title: string, unit: string, seen: Seen, value: (sample: LaneSample) => number): LineChart {
  const series = LANES.map((lane) => laneSeries(seen, lane, value));
  return { kind: 'lines', title, unit, logarithmic: false, upTo: null, series, time: seen.time };
}

/** One lane's samples within the time that is drawn. */
export function laneSeries(
  { samples, startedAtMs, time }: Seen,
  lane: Lane,
  value: (sample: LaneSample) => number,
): Series {
  const points = samples[lane]
    .map((sample) => [secondOf(sample, startedAtMs), value(sample)] as const)
    .filter(([second]) => second >= 0 && second <= time.lengthS);
  return { name: lane, colour: laneColours[lane], steps: true, points };
}

/** The states of the lanes, one row each [MC-ST-01]. */
export function states({ samples, startedAtMs, time }: Seen): Chart {
  const rows = LANES.map((name) => ({ name, bands: statesOf(samples[name], startedAtMs, time.lengthS) }));
  return { kind: 'rows', title: 'States of the lanes', rows, time };
}

function statesOf(samples: readonly LaneSample[], startedAtMs: number, lengthS: number): Band[] {
  const bands: Band[] = [];
  for (const sample of samples) {
    const { state } = sample;
    const atS = Math.min(Math.max(secondOf(sample, startedAtMs), 0), lengthS);
    const last = bands.at(-1);
    if (last !== undefined) bands[bands.length - 1] = { ...last, toS: atS };
    if (last?.name !== state) bands.push({ fromS: atS, toS: atS, name: state, colour: stateColours[state] });
  }
  return bands.filter(({ fromS, toS }) => toS > fromS);
}

/** To the millisecond: the page holds tens of thousands of them. */
function secondOf({ atMs }: LaneSample, startedAtMs: number): number {
  return Math.round(atMs - startedAtMs) / 1_000;
}
