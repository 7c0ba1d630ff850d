import { type UnknownReason } from './http/exchange';
import { LatencyHistogram, type LatencyFigures } from './latency-histogram';
import { type TargetResult } from './result';
import { TimeSeries, type SecondCell } from './time-series';

/** A server that invents codes must not make the result grow without bound. */
const CODES_MAX = 200;

export interface AttemptTimes {
  latencyMs: number;
  serviceMs: number;
}

/** Counts what became of the measured requests of one target. */
export class TargetTally {
  private readonly statuses: Record<string, number> = {};
  private readonly codes: Record<string, number> = {};
  private readonly unknownReasons: Record<string, number> = {};
  private readonly latency = new LatencyHistogram();
  private readonly latencyByClass = new Map<string, LatencyHistogram>();
  private readonly service = new LatencyHistogram();
  private readonly lag = new LatencyHistogram();
  private readonly series = new TimeSeries();
  private operations = 0;
  private retries = 0;
  private handedOver = 0;
  private answered = 0;
  private overflow = 0;
  private notSent = 0;
  private unknown = 0;
  private firstTrySucceeded = 0;
  private afterRetrySucceeded = 0;
  private failed = 0;

  /** A request is about to be handed to the network, `lagMs` after it was due. */
  started(attempt: number, dueMs: number, lagMs: number): SecondCell {
    if (attempt === 0) this.operations += 1;
    else this.retries += 1;
    this.lag.record(lagMs);
    return this.series.start(dueMs);
  }

  sent(): void {
    this.handedOver += 1;
  }

  refusedByOverflow(cell: SecondCell): void {
    this.overflow += 1;
    this.series.end(cell, null, 'overflow');
  }

  connectionFailed(cell: SecondCell): void {
    this.notSent += 1;
    this.series.end(cell, null, 'notSent');
  }

  outcomeUnknown(cell: SecondCell, reason: UnknownReason): void {
    this.unknown += 1;
    count(this.unknownReasons, reason);
    this.series.end(cell, null, 'unknown');
  }

  gotAnswer(cell: SecondCell, status: number, code: string | null, times: AttemptTimes): void {
    this.answered += 1;
    count(this.statuses, String(status));
    if (code !== null) count(this.codes, code);
    this.latency.record(times.latencyMs);
    this.service.record(times.serviceMs);
    const statusClass = `${Math.floor(status / 100)}xx`;
    let byClass = this.latencyByClass.get(statusClass);
    if (byClass === undefined) {
      byClass = new LatencyHistogram();
      this.latencyByClass.set(statusClass, byClass);
    }
    byClass.record(times.latencyMs);
    if (status < 300) this.series.end(cell, times.latencyMs, 'answered', 'succeeded');
    else if (status < 500) this.series.end(cell, times.latencyMs, 'answered', 'refused4xx');
    else this.series.end(cell, times.latencyMs, 'answered', 'refused5xx');
  }

  /** An operation is over: no further attempt will be made. */
  operationEnded(attempt: number, succeeded: boolean): void {
    if (!succeeded) this.failed += 1;
    else if (attempt === 0) this.firstTrySucceeded += 1;
    else this.afterRetrySucceeded += 1;
  }

  /** Throws where the counts do not add up: a request was lost or counted twice, and no figure is to be trusted. */
  finish(name: string, url: string, durationS: number): TargetResult {
    const sent = this.handedOver - this.notSent;
    if (sent !== this.answered + this.unknown) {
      throw new Error(`${name}: ${sent} sent, but ${this.answered} answered and ${this.unknown} unknown`);
    }
    if (this.operations + this.retries !== sent + this.overflow + this.notSent) {
      throw new Error(`${name}: ${this.operations} operations and ${this.retries} retries do not make ${sent} sent`);
    }
    const succeeded = this.firstTrySucceeded + this.afterRetrySucceeded;
    if (this.operations !== succeeded + this.failed) {
      throw new Error(`${name}: ${this.operations} operations, but ${succeeded} succeeded and ${this.failed} failed`);
    }
    return {
      name,
      url,
      rate: durationS > 0 ? this.operations / durationS : 0,
      operations: this.operations,
      retries: this.retries,
      sent,
      answered: this.answered,
      overflow: this.overflow,
      notSent: this.notSent,
      unknown: this.unknown,
      unknownReasons: this.unknownReasons,
      statuses: this.statuses,
      codes: this.codes,
      firstTrySucceeded: this.firstTrySucceeded,
      afterRetrySucceeded: this.afterRetrySucceeded,
      failed: this.failed,
      firstTryShare: share(this.firstTrySucceeded, this.operations),
      succeededShare: share(succeeded, this.operations),
      latencyMs: this.latency.figures(),
      latencyMsByClass: figuresByClass(this.latencyByClass),
      serviceMs: this.service.figures(),
      lagMs: this.lag.figures(),
      series: this.series.finish(),
    };
  }
}

function figuresByClass(histograms: ReadonlyMap<string, LatencyHistogram>): Record<string, LatencyFigures> {
  const figures: Record<string, LatencyFigures> = {};
  for (const [statusClass, histogram] of histograms) {
    const each = histogram.figures();
    if (each !== null) figures[statusClass] = each;
  }
  return figures;
}

function count(counts: Record<string, number>, name: string): void {
  const key = name in counts || Object.keys(counts).length < CODES_MAX ? name : 'OTHER';
  counts[key] = (counts[key] ?? 0) + 1;
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
