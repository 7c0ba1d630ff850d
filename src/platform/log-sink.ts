import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** Lines that wait for a reader who is slow; what comes beyond is dropped and counted. */
const WAITING_BYTES_MAX = 1024 * 1024;
const TRY_AGAIN_MS = 20;

export interface LogSinkOptions {
  /** Writes to the descriptor; returns how many bytes it took. */
  readonly write?: (bytes: Buffer) => number;
}

/**
 * Standard output for log lines. Each is written at once, so that the ones before a crash are there; but whatever
 * becomes of the reader, the process never waits for it: a terminal that was closed, a full disk or a pipe that
 * nobody empties costs lines and nothing else.
 */
export class LogSink implements DestinationStream {
  readonly #write: (bytes: Buffer) => number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Lines that were lost. */
  dropped = 0;

  constructor({ write = (bytes) => writeSync(1, bytes) }: LogSinkOptions = {}) {
    this.#write = write;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waiting.length > 0) this.#wait(bytes);
    else this.#put(bytes);
  }

  /** A last try for the lines that wait, as the process ends. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const bytes of waiting) {
      if (this.#waiting.length > 0) this.#wait(bytes);
      else this.#put(bytes);
    }
  }

  #put(bytes: Buffer): void {
    let rest = bytes;
    try {
      while (rest.length > 0) rest = rest.subarray(this.#write(rest));
    } catch (error) {
      // The reader is slow: the rest of this line comes first when it can take more.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') this.#wait(rest);
      else this.dropped += 1;
    }
  }

  #wait(bytes: Buffer): void {
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) {
      this.dropped += 1;
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#timer ??= setTimeout(() => this.flush(), TRY_AGAIN_MS).unref();
  }
}
