import { LatencyHistogram } from './latency-histogram';
import { type SecondRow } from './result';

type Counter = Exclude<keyof SecondRow, 'second' | 'p50Ms' | 'p99Ms' | 'maxMs' | 'due'>;

/** The second a request was due in, open until the last of its requests has ended. */
export interface SecondCell {
  readonly row: SecondRow;
  readonly histogram: LatencyHistogram;
  open: number;
}

/**
 * Per-second figures of one target. Only seconds with requests still under way hold a histogram, and histograms are used
 * again, so a run of any length needs as many as an answer may take seconds.
 */
export class TimeSeries {
  private readonly cells = new Map<number, SecondCell>();
  private readonly spare: LatencyHistogram[] = [];
  private readonly rows: SecondRow[] = [];
  private current = 0;

  /** Requests must be started in the order they were due. */
  start(dueMs: number): SecondCell {
    const second = Math.max(Math.floor(dueMs / 1_000), this.current);
    if (second > this.current) this.moveTo(second);
    let cell = this.cells.get(second);
    if (cell === undefined) {
      cell = { row: emptyRow(second), histogram: this.spare.pop() ?? new LatencyHistogram(), open: 0 };
      this.cells.set(second, cell);
    }
    cell.row.due += 1;
    cell.open += 1;
    return cell;
  }

  /** Ends one request of the cell; `latencyMs` is null where no answer came. */
  end(cell: SecondCell, latencyMs: number | null, ...counters: Counter[]): void {
    for (const counter of counters) cell.row[counter] += 1;
    if (latencyMs !== null) cell.histogram.record(latencyMs);
    cell.open -= 1;
    if (cell.open === 0 && cell.row.second < this.current) this.close(cell);
  }

  /** All rows in order; seconds without a request have none. */
  finish(): SecondRow[] {
    for (const cell of [...this.cells.values()]) this.close(cell);
    return this.rows.sort((left, right) => left.second - right.second);
  }

  private moveTo(second: number): void {
    this.current = second;
    for (const cell of [...this.cells.values()]) {
      if (cell.open === 0) this.close(cell);
    }
  }

  private close(cell: SecondCell): void {
    const figures = cell.histogram.figures();
    cell.row.p50Ms = figures?.p50 ?? null;
    cell.row.p99Ms = figures?.p99 ?? null;
    cell.row.maxMs = figures?.max ?? null;
    this.rows.push(cell.row);
    this.cells.delete(cell.row.second);
    cell.histogram.reset();
    this.spare.push(cell.histogram);
  }
}

function emptyRow(second: number): SecondRow {
  return {
    second,
    due: 0,
    answered: 0,
    succeeded: 0,
    refused4xx: 0,
    refused5xx: 0,
    unknown: 0,
    overflow: 0,
    notSent: 0,
    p50Ms: null,
    p99Ms: null,
    maxMs: null,
  };
}
