import { readRows, RowLog } from '../support/row-log';

/** One answer: when its request was due, and how much later it came. */
export interface AnswerRow {
  /** On the wall clock, with fractions. */
  readonly dueMs: number;
  readonly latencyMs: number;
  readonly succeeded: boolean;
}

const FIELDS = 3;

/** Answers in memory while the load runs. */
export class AnswerLog {
  readonly #rows = new RowLog(FIELDS);

  add(dueMs: number, latencyMs: number, succeeded: boolean): void {
    this.#rows.add([dueMs, latencyMs, succeeded ? 1 : 0]);
  }

  write(file: string): void {
    this.#rows.write(file);
  }
}

export function* readAnswers(file: string): Generator<AnswerRow> {
  for (const [dueMs = 0, latencyMs = 0, succeeded = 0] of readRows(file, FIELDS)) {
    yield { dueMs, latencyMs, succeeded: succeeded === 1 };
  }
}
