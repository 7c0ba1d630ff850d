import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const ROWS_PER_CHUNK = 100_000;

/** Rows of numbers in memory while a load runs: writing each as text would take the generator's own time. */
export class RowLog {
  readonly #fields: number;
  readonly #chunks: Float64Array[] = [];
  #used: number;

  /** @param fields of each row. */
  constructor(fields: number) {
    this.#fields = fields;
    this.#used = ROWS_PER_CHUNK * fields;
  }

  add(row: readonly number[]): void {
    if (this.#used === ROWS_PER_CHUNK * this.#fields) {
      this.#chunks.push(new Float64Array(ROWS_PER_CHUNK * this.#fields));
      this.#used = 0;
    }
    const chunk = this.#chunks.at(-1);
    if (chunk === undefined || row.length !== this.#fields) throw new Error(`A row has ${this.#fields} fields`);
    chunk.set(row, this.#used);
    this.#used += this.#fields;
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

/** The rows of a file that {@link RowLog} has written. */
export function* readRows(file: string, fields: number): Generator<Float64Array> {
  const bytes = readFileSync(file);
  const values = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  for (let at = 0; at < values.length; at += fields) yield values.subarray(at, at + fields);
}
