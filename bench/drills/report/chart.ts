/** What a report shows over the seconds of a run: data, which `draw-charts.js` draws in the page with uPlot. */
export type Chart = LineChart | RowChart;

export interface LineChart {
  readonly kind: 'lines';
  readonly title: string;
  /** Of the values. */
  readonly unit: string;
  readonly series: readonly Series[];
  /** The largest value that must be on the chart; null leaves that to the values. */
  readonly upTo: number | null;
  /** Latencies of three orders of magnitude on one chart. Values below 1 are drawn at 1. */
  readonly logarithmic: boolean;
  readonly time: TimeLine;
}

/** Named rows of named stretches, such as the states of the lanes. */
export interface RowChart {
  readonly kind: 'rows';
  readonly title: string;
  readonly rows: readonly { readonly name: string; readonly bands: readonly Band[] }[];
  readonly time: TimeLine;
}

export interface Series {
  readonly name: string;
  readonly colour: Colour;
  /** Second and value; null where nothing was measured, which is a gap. */
  readonly points: readonly (readonly [second: number, value: number | null])[];
  /** The value stands until the next one. */
  readonly steps?: boolean;
}

/** A stretch of time that has a name: a phase of the drill, a state of a lane. */
export interface Band {
  readonly fromS: number;
  readonly toS: number;
  readonly name: string;
  readonly colour: Colour;
}

/** A moment that has a name. */
export interface Moment {
  readonly atS: number;
  readonly name: string;
}

/** What a chart stands on. Charts of one line of time share their cursor. */
export interface TimeLine {
  readonly lengthS: number;
  readonly bands: readonly Band[];
  readonly moments: readonly Moment[];
}

/** Names of the page's colours, each of which has a shade for a light and for a dark page. */
export type Colour = 'blue' | 'orange' | 'green' | 'red' | 'violet' | 'grey';
