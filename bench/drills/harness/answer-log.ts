import { readRows, RowLog } from '../../support/row-log';

/** One answer of one target. */
export interface AnswerRow {
  /** Index into the plan's targets. */
  readonly target: number;
  /** When the request was due, on the wall clock, with fractions. */
  readonly dueMs: number;
  /** From then to the end of the answer. */
  readonly latencyMs: number;
  /** From its sending to the end of the answer: without the generator's own lag. */
  readonly serviceMs: number;
  readonly status: number;
  /** Index into the names of the codes; 0 for none. */
  readonly code: number;
  /** 0 for the first try. */
  readonly attempt: number;
  /** A refusal that carries an estimate of the tax. */
  readonly estimate: boolean;
}

const FIELDS = 8;

/** Answers in memory while the load runs. */
export class AnswerLog {
  readonly #rows = new RowLog(FIELDS);

  add({ target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate }: AnswerRow): void {
    this.#rows.add([target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate ? 1 : 0]);
  }

  write(file: string): void {
    this.#rows.write(file);
  }
}

export function* readAnswerLog(file: string): Generator<AnswerRow> {
  for (const row of readRows(file, FIELDS)) {
    const [target = 0, dueMs = 0, latencyMs = 0, serviceMs = 0, status = 0, code = 0, attempt = 0, estimate = 0] = row;
    yield { target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate: estimate === 1 };
  }
}
