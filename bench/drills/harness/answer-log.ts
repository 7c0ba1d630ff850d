import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

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
const ROWS_PER_CHUNK = 100_000;

/** Answers in memory while the load runs: writing each as text would take the generator's own time. */
export class AnswerLog {
  readonly #chunks: Float64Array[] = [];
  #used = ROWS_PER_CHUNK * FIELDS;

  add({ target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate }: AnswerRow): void {
    if (this.#used === ROWS_PER_CHUNK * FIELDS) {
      this.#chunks.push(new Float64Array(ROWS_PER_CHUNK * FIELDS));
      this.#used = 0;
    }
    const chunk = this.#chunks.at(-1);
    if (chunk === undefined) throw new Error('There is a chunk by now');
    chunk.set([target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate ? 1 : 0], this.#used);
    this.#used += FIELDS;
  }

  write(file: string): void {
    const descriptor = openSync(file, 'w');
    this.#chunks.forEach((chunk, index) => {
      const full = index < this.#chunks.length - 1;
      writeSync(descriptor, full ? chunk : chunk.subarray(0, this.#used));
    });
    closeSync(descriptor);
  }
}

export function* readAnswerLog(file: string): Generator<AnswerRow> {
  const bytes = readFileSync(file);
  const values = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  for (let at = 0; at < values.length; at += FIELDS) {
    const [target = 0, dueMs = 0, latencyMs = 0, serviceMs = 0, status = 0, code = 0, attempt = 0, estimate = 0] =
      values.subarray(at, at + FIELDS);
    yield { target, dueMs, latencyMs, serviceMs, status, code, attempt, estimate: estimate === 1 };
  }
}
