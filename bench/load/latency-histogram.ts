import { createHistogram } from 'node:perf_hooks';

export interface LatencyFigures {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

/** Longer than any answer is waited for. */
const MICROSECONDS_MAX = 600_000_000;
/** 0.99 × 100 is a little more than 99 in floating point, which must not become rank 100. */
const RANK_EPSILON = 1e-6;

/** An HdrHistogram (the one inside Node) of milliseconds: any percentile is within 0.1 % of the true one. */
export class LatencyHistogram {
  private readonly histogram = createHistogram({ lowest: 1, highest: MICROSECONDS_MAX, figures: 3 });
  private countTotal = 0;
  private maxMs = 0;

  record(ms: number): void {
    const microseconds = Math.round(ms * 1_000);
    this.histogram.record(Math.min(Math.max(microseconds, 1), MICROSECONDS_MAX));
    this.countTotal += 1;
    if (ms > this.maxMs) this.maxMs = ms;
  }

  get count(): number {
    return this.countTotal;
  }

  /** Null while nothing is recorded: no percentile of nothing is 0. */
  figures(): LatencyFigures | null {
    if (this.countTotal === 0) return null;
    return {
      count: this.countTotal,
      p50: this.percentileMs(0.5),
      p90: this.percentileMs(0.9),
      p99: this.percentileMs(0.99),
      p999: this.percentileMs(0.999),
      max: round(this.maxMs),
    };
  }

  reset(): void {
    this.histogram.reset();
    this.countTotal = 0;
    this.maxMs = 0;
  }

  /** The smallest recorded value that at least this share does not exceed: Node rounds the rank, which here means up. */
  private percentileMs(share: number): number {
    const rank = Math.ceil(share * this.countTotal - RANK_EPSILON);
    const percentile = (rank / this.countTotal) * 100;
    return round(Math.min(this.histogram.percentile(percentile) / 1_000, this.maxMs));
  }
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
