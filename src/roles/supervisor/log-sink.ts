import { write } from 'node:fs';

/** Lines of one source that may wait for the reader of the stream; beyond it that source's lines are dropped. */
const WAITING_BYTES_MAX = 1024 * 1024;
const BATCH_BYTES_MAX = 64 * 1024;
const FULL_PIPE_RETRY_MS = 10;

interface Waiting {
  lines: string[];
  bytes: number;
  dropped: number;
}

export interface LogSinkOptions {
  /** A line that tells how many of a source's lines were dropped. */
  droppedLine(source: string, lines: number): string;
}

/**
 * The one log stream. A reader that stops reading must stop no lane: lines wait in bounded memory, each source in its
 * own, and are written by a thread, one batch of whole lines at a time. Sources take turns, so one that floods loses
 * its own lines and delays no other's.
 */
export class LogSink {
  readonly #descriptor: number;
  readonly #options: LogSinkOptions;
  readonly #waiting = new Map<string, Waiting>();
  #writing = false;
  /** The reader has gone: what is said from now on is for nobody. */
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(descriptor: number, options: LogSinkOptions) {
    this.#descriptor = descriptor;
    this.#options = options;
  }

  /** @param line without its end. */
  write(source: string, line: string): void {
    if (this.#closed) return;
    const waiting = this.#waiting.get(source) ?? { lines: [], bytes: 0, dropped: 0 };
    this.#waiting.set(source, waiting);
    const bytes = Buffer.byteLength(line) + 1;
    if (waiting.bytes + bytes > WAITING_BYTES_MAX) {
      waiting.dropped += 1;
      return;
    }
    waiting.lines.push(line);
    waiting.bytes += bytes;
    if (!this.#writing) this.#writeNext();
  }

  /** @returns whether everything was written within the limit. */
  async flush(limitMs: number): Promise<boolean> {
    if (!this.#writing) return true;
    let timer: NodeJS.Timeout | undefined;
    const idle = new Promise<boolean>((resolve) => {
      this.#onIdle.push(() => resolve(true));
      timer = setTimeout(() => resolve(false), limitMs);
    });
    try {
      return await idle;
    } finally {
      clearTimeout(timer);
    }
  }

  #writeNext(): void {
    const batch = this.#takeBatch();
    this.#writing = batch.length > 0;
    if (this.#writing) this.#writeBatch(Buffer.from(batch));
    else for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  /** An equal part of each source that has something to say. */
  #takeBatch(): string {
    const speaking = [...this.#waiting].filter(([, { lines }]) => lines.length > 0);
    const bytesEach = BATCH_BYTES_MAX / Math.max(1, speaking.length);
    return speaking.map(([source, waiting]) => this.#takeFrom(source, waiting, bytesEach)).join('');
  }

  #takeFrom(source: string, waiting: Waiting, bytesMax: number): string {
    let taken = 0;
    let bytes = 0;
    do bytes += Buffer.byteLength(waiting.lines[taken++] ?? '') + 1;
    while (taken < waiting.lines.length && bytes < bytesMax);
    const lines = waiting.lines.splice(0, taken);
    waiting.bytes -= bytes;
    if (waiting.dropped > 0) {
      lines.push(this.#options.droppedLine(source, waiting.dropped));
      waiting.dropped = 0;
    }
    return `${lines.join('\n')}\n`;
  }

  #writeBatch(batch: Buffer): void {
    write(this.#descriptor, batch, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => this.#writeBatch(batch), FULL_PIPE_RETRY_MS);
      } else if (error !== null) {
        this.#closed = true;
        this.#waiting.clear();
        this.#writeNext();
      } else if (written < batch.length) this.#writeBatch(batch.subarray(written));
      else this.#writeNext();
    });
  }
}
