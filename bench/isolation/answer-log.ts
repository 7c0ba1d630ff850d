import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** One answer: when its request was due, and how much later it came. */
export interface AnswerRow {
  /** On the wall clock, with fractions. */
  readonly dueMs: number;
  readonly latencyMs: number;
  readonly succeeded: boolean;
}

const FIELDS = 3;
const ROWS_PER_CHUNK = 100_000;

/** Answers in memory while the load runs: writing each as text would take the generator's own time. */
export class AnswerLog {
  readonly #chunks: Float64Array[] = [];
  #used = ROWS_PER_CHUNK * FIELDS;

  add(dueMs: number, latencyMs: number, succeeded: boolean): void {
    if (this.#used === ROWS_PER_CHUNK * FIELDS) {
      this.#chunks.push(new Float64Array(ROWS_PER_CHUNK * FIELDS));
      this.#used = 0;
    }
    const chunk = this.#chunks.at(-1);
    if (chunk === undefined) throw new Error('There is a chunk by now');
    chunk[this.#used] = dueMs;
    chunk[this.#used + 1] = latencyMs;
    chunk[this.#used + 2] = succeeded ? 1 : 0;
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

export function* readAnswers(file: string): Generator<AnswerRow> {
  const bytes = readFileSync(file);
  const values = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  for (let at = 0; at < values.length; at += FIELDS) {
    const [dueMs = 0, latencyMs = 0, succeeded = 0] = values.subarray(at, at + FIELDS);
    yield { dueMs, latencyMs, succeeded: succeeded === 1 };
  }
}
