import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  json(): Record<string, unknown>;
}

/** One TCP connection, written to byte by byte: what an HTTP client would never let a test send. */
export class RawClient {
  readonly socket: Socket;
  #received = '';
  closed = false;
  #wake: () => void = () => {};

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.#received += text;
      this.#wake();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  send(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Sends the head of a request, each header on a line of its own. */
  head(requestLine: string, headers: Readonly<Record<string, string | number>>): this {
    const lines = Object.entries({ host: 'test', ...headers }).map(([name, value]) => `${name}: ${value}`);
    return this.send(`${requestLine} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  }

  vanish(): void {
    this.socket.resetAndDestroy();
  }

  end(): void {
    this.socket.destroy();
  }

  /** The next whole answer. */
  async answer(): Promise<RawAnswer> {
    for (;;) {
      const parsed = parse(this.#received);
      if (parsed !== null) {
        this.#received = this.#received.slice(parsed.length);
        return parsed.answer;
      }
      if (this.closed) throw new Error(`The connection closed before a whole answer: ${this.#received}`);
      await this.#more();
    }
  }

  async closing(): Promise<void> {
    while (!this.closed) await this.#more();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function parse(text: string): { answer: RawAnswer; length: number } | null {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const length = headEnd + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return null;
  const body = text.slice(headEnd + 4, length);
  return {
    answer: {
      status: Number(statusLine.split(' ')[1]),
      headers,
      body,
      json: () => JSON.parse(body) as Record<string, unknown>,
    },
    length,
  };
}

/** Waits for something that the other side of a socket brings about; fails rather than waiting for ever. */
export async function eventually(holds: () => boolean, what: string): Promise<void> {
  const giveUpAt = performance.now() + 5_000;
  while (!holds()) {
    if (performance.now() > giveUpAt) throw new Error(`It never came about that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
