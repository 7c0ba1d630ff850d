/** What a report shows over the seconds of a run; how it is drawn is the renderer's business. */
export interface Chart {
  readonly title: string;
  /** Of the values. */
  readonly unit: string;
  readonly series: readonly Series[];
  /** The largest value that must be on the chart; null leaves that to the values. */
  readonly upTo: number | null;
  /** Latencies of three orders of magnitude on one chart. Values below 1 are drawn at 1. */
  readonly logarithmic: boolean;
}

export interface Series {
  readonly name: string;
  /** One of the page's colours. */
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

/** What all charts of a report stand on. */
export interface TimeLine {
  readonly lengthS: number;
  readonly bands: readonly Band[];
  readonly moments: readonly Moment[];
}

export const COLOURS = ['blue', 'orange', 'green', 'red', 'violet', 'grey'] as const;
export type Colour = (typeof COLOURS)[number];

/** Draws as HTML that needs nothing from anywhere. */
export interface ChartRenderer {
  /** For the head of the page, once. */
  readonly styles: string;
  chart(chart: Chart, time: TimeLine): string;
  /** A row of named stretches, such as a lane's states. */
  bands(title: string, bands: readonly Band[], time: TimeLine): string;
}
