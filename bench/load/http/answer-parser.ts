/** What the generator needs of an answer; every other header is skipped. */
export interface ParsedAnswer {
  status: number;
  retryAfterS: number | null;
  /** Null where nobody wanted it. */
  body: string | null;
  /** False: the server closes the connection after this answer, so it must not be used again. */
  reusable: boolean;
  /** How long the server keeps an idle connection (`Keep-Alive: timeout=`), where it says so. */
  keepAliveS: number | null;
}

export class MalformedAnswerError extends Error {}

const HEAD_BYTES_MAX = 16 * 1024;
const CHUNK_LINE_BYTES_MAX = 1024;
const TRAILER_BYTES_MAX = 16 * 1024;
/** A 207 of 5,000 ledger items stays well below this. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

type State = 'head' | 'sized' | 'chunk_size' | 'chunk_data' | 'chunk_end' | 'trailers' | 'until_close' | 'done';

interface Head extends Omit<ParsedAnswer, 'body'> {
  contentLength: number | null;
  chunked: boolean;
}

/**
 * Incremental HTTP/1.1 answer parser for one answer at a time. It exists because a general client costs several times
 * the CPU, and the generator shares its cores with the server it measures (figures in bench/load/README.md).
 */
export class AnswerParser {
  private state: State = 'head';
  private residue: Buffer = EMPTY;
  private head: Head | null = null;
  private bodyWanted = false;
  private parts: Buffer[] = [];
  private bodyBytes = 0;
  private left = 0;
  private trailerBytes = 0;

  constructor(private readonly wantsBody: (status: number) => boolean) {}

  /**
   * Takes bytes; true once the answer is complete. The chunk is copied where it must outlive the call, so the caller
   * may read into one buffer again and again. Throws {@link MalformedAnswerError}.
   */
  push(chunk: Buffer): boolean {
    let rest: Buffer | null = this.residue.length === 0 ? chunk : Buffer.concat([this.residue, chunk]);
    this.residue = EMPTY;
    while (rest !== null && this.state !== 'done') {
      const next: Buffer | null = this.step(rest);
      if (next === null) this.residue = rest.length === 0 ? EMPTY : Buffer.from(rest);
      rest = next;
    }
    if (this.state === 'done' && rest !== null && rest.length > 0) {
      throw new MalformedAnswerError('bytes after the end of the answer');
    }
    return this.state === 'done';
  }

  /** The server closed the connection: completes an answer that has no declared length, and only such a one. */
  end(): boolean {
    if (this.state === 'until_close') this.state = 'done';
    return this.state === 'done';
  }

  /** The complete answer; the parser is ready for the next one afterwards. */
  take(): ParsedAnswer {
    const head = this.head;
    if (this.state !== 'done' || head === null) throw new Error('take() before the answer is complete');
    const body = this.bodyWanted ? Buffer.concat(this.parts).toString('utf8') : null;
    const answer = {
      status: head.status,
      retryAfterS: head.retryAfterS,
      body,
      reusable: head.reusable,
      keepAliveS: head.keepAliveS,
    };
    this.state = 'head';
    this.head = null;
    this.parts = [];
    this.bodyBytes = 0;
    this.trailerBytes = 0;
    return answer;
  }

  /** Consumes what one state can of the bytes; returns the rest, or null when more bytes are needed. */
  private step(bytes: Buffer): Buffer | null {
    switch (this.state) {
      case 'head':
        return this.readHead(bytes);
      case 'sized':
        return this.readBody(bytes, 'done');
      case 'chunk_data':
        return this.readBody(bytes, 'chunk_end');
      case 'chunk_size':
        return this.readLine(bytes, CHUNK_LINE_BYTES_MAX, (line) => this.startChunk(line));
      case 'chunk_end':
        return this.readLine(bytes, CHUNK_LINE_BYTES_MAX, (line) => {
          if (line !== '') throw new MalformedAnswerError('chunk longer than its size');
          this.state = 'chunk_size';
        });
      case 'trailers':
        return this.readLine(bytes, TRAILER_BYTES_MAX, (line) => {
          this.trailerBytes += line.length;
          if (this.trailerBytes > TRAILER_BYTES_MAX) throw new MalformedAnswerError('trailers too long');
          if (line === '') this.state = 'done';
        });
      case 'until_close':
        if (bytes.length > 0) this.keep(bytes);
        return bytes.length > 0 ? EMPTY : null;
      case 'done':
        return bytes;
    }
  }

  private readHead(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) {
      if (bytes.length > HEAD_BYTES_MAX) throw new MalformedAnswerError('head too long');
      return null;
    }
    const head = parseHead(bytes.toString('latin1', 0, end));
    const rest = bytes.subarray(end + 4);
    // 100 Continue and 103 Early Hints come before the answer and are none.
    if (head.status < 200) return rest;
    this.head = head;
    this.bodyWanted = this.wantsBody(head.status);
    if (head.status === 204 || head.status === 304) {
      this.state = 'done';
    } else if (head.chunked) {
      this.state = 'chunk_size';
    } else if (head.contentLength !== null) {
      this.left = head.contentLength;
      this.state = this.left === 0 ? 'done' : 'sized';
    } else {
      head.reusable = false;
      this.state = 'until_close';
    }
    return rest;
  }

  private startChunk(line: string): void {
    const size = /^([0-9a-f]{1,8})[ \t]*(;.*)?$/i.exec(line)?.[1];
    if (size === undefined) throw new MalformedAnswerError(`chunk size "${line.slice(0, 40)}"`);
    this.left = Number.parseInt(size, 16);
    this.state = this.left === 0 ? 'trailers' : 'chunk_data';
  }

  private readBody(bytes: Buffer, then: State): Buffer | null {
    if (bytes.length === 0) return null;
    const taken = bytes.length <= this.left ? bytes : bytes.subarray(0, this.left);
    this.keep(taken);
    this.left -= taken.length;
    if (this.left === 0) this.state = then;
    return bytes.subarray(taken.length);
  }

  private readLine(bytes: Buffer, bytesMax: number, use: (line: string) => void): Buffer | null {
    const end = bytes.indexOf('\r\n');
    if (end === -1) {
      if (bytes.length > bytesMax) throw new MalformedAnswerError('line too long');
      return null;
    }
    use(bytes.toString('latin1', 0, end));
    return bytes.subarray(end + 2);
  }

  private keep(bytes: Buffer): void {
    this.bodyBytes += bytes.length;
    if (this.bodyBytes > BODY_BYTES_MAX) throw new MalformedAnswerError('body too long');
    if (this.bodyWanted) this.parts.push(Buffer.from(bytes));
  }
}

function parseHead(text: string): Head {
  const status = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |\r|$)/.exec(text);
  if (status === null) throw new MalformedAnswerError(`status line "${text.slice(0, 40)}"`);
  const head: Head = {
    status: Number(status[2]),
    retryAfterS: null,
    reusable: status[1] === '1',
    keepAliveS: null,
    contentLength: null,
    chunked: false,
  };
  let start = text.indexOf('\r\n');
  while (start !== -1) {
    const next = text.indexOf('\r\n', start + 2);
    const end = next === -1 ? text.length : next;
    const colon = text.indexOf(':', start + 2);
    if (colon === -1 || colon >= end) throw new MalformedAnswerError('header line without a colon');
    readHeader(head, text, start + 2, colon, end);
    start = next;
  }
  // Where both are given the chunks decide (RFC 9112, 6.3).
  if (head.chunked) head.contentLength = null;
  return head;
}

/** Looks at a header only if its name has the length of one that matters: no string is made for the others. */
function readHeader(head: Head, text: string, start: number, colon: number, end: number): void {
  const nameLength = colon - start;
  if (nameLength !== 10 && nameLength !== 11 && nameLength !== 14 && nameLength !== 17) return;
  const name = text.slice(start, colon).toLowerCase();
  const value = text.slice(colon + 1, end).trim();
  if (name === 'content-length') {
    const length = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (Number.isNaN(length) || (head.contentLength !== null && head.contentLength !== length)) {
      throw new MalformedAnswerError(`content-length "${value.slice(0, 40)}"`);
    }
    head.contentLength = length;
  } else if (name === 'transfer-encoding') {
    if (value.toLowerCase() !== 'chunked') throw new MalformedAnswerError(`transfer-encoding "${value.slice(0, 40)}"`);
    head.chunked = true;
  } else if (name === 'connection') {
    if (/(^|,)\s*close\s*(,|$)/i.test(value)) head.reusable = false;
  } else if (name === 'keep-alive') {
    const timeout = /timeout=(\d{1,6})/.exec(value)?.[1];
    if (timeout !== undefined) head.keepAliveS = Number(timeout);
  } else if (name === 'retry-after') {
    if (/^\d{1,9}$/.test(value)) head.retryAfterS = Number(value);
  }
}
