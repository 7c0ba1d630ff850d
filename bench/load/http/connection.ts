import { connect, type Socket } from 'node:net';
import { AnswerParser } from './answer-parser';
import { type Exchange, type Outcome } from './exchange';

export interface ConnectionOptions {
  host: string;
  port: number;
  /** One read buffer serves all connections of a process: nothing is allocated per read. */
  readBuffer: Buffer;
}

export interface ConnectionOwner {
  /** The connection has no request and may be given one. */
  onIdle(connection: Connection): void;
  /** The connection is gone, whatever the reason. */
  onClosed(connection: Connection): void;
}

/** Used until the server says how long it keeps idle connections: below the 5 s of a plain Node server. */
const IDLE_MS_UNKNOWN_SERVER = 4_000;
/** Given up this long before the server's own limit, so that a request does not cross the server's FIN. */
const IDLE_MARGIN_MS = 1_000;

/** One kept-alive HTTP/1.1 connection with at most one request on it: an answer is never waited for behind another. */
export class Connection {
  /** On the pool's clock. */
  idleSinceMs = 0;
  private idleMsMax = IDLE_MS_UNKNOWN_SERVER;
  private readonly socket: Socket;
  private readonly parser = new AnswerParser((status) => this.exchange?.wantsBody(status) ?? false);
  private exchange: Exchange | null = null;
  private connected = false;
  private closed = false;

  constructor(
    options: ConnectionOptions,
    private readonly owner: ConnectionOwner,
  ) {
    this.socket = connect({
      host: options.host,
      port: options.port,
      noDelay: true,
      onread: {
        buffer: options.readBuffer,
        callback: (bytes: number, buffer: Uint8Array) => {
          this.onBytes(buffer, bytes);
          return true;
        },
      },
    });
    this.socket.once('connect', () => {
      this.connected = true;
      if (this.exchange === null) owner.onIdle(this);
    });
    // The reason of an error decides nothing: 'close' follows it and says what the exchange has become.
    this.socket.on('error', () => undefined);
    this.socket.on('end', () => this.onEnd());
    this.socket.once('close', () => this.onClose());
  }

  get usable(): boolean {
    return !this.closed && this.exchange === null;
  }

  /** True once the server may be about to close this idle connection. */
  isStale(nowMs: number): boolean {
    return nowMs - this.idleSinceMs >= this.idleMsMax;
  }

  /** Writes the whole request at once: one system call, one segment where it fits. */
  send(request: string, exchange: Exchange): void {
    this.exchange = exchange;
    this.socket.write(request);
  }

  /** Gives the running request up; its outcome is settled with this, and the connection cannot be used again. */
  abandon(outcome: Outcome): void {
    const exchange = this.exchange;
    this.exchange = null;
    this.close();
    exchange?.settle(this.connected ? outcome : { kind: 'not_sent' });
  }

  close(): void {
    this.closed = true;
    this.socket.destroy();
  }

  private onBytes(buffer: Uint8Array, bytes: number): void {
    if (this.closed) return;
    if (this.exchange === null) {
      // An answer that nobody asked for, as a server's 408 on an idle connection: no request may be matched with it.
      this.close();
      return;
    }
    let complete: boolean;
    try {
      complete = this.parser.push(Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
    } catch {
      this.abandon({ kind: 'unknown', reason: 'malformed' });
      return;
    }
    if (complete) this.finish();
  }

  private onEnd(): void {
    if (!this.closed && this.exchange !== null && this.parser.end()) this.finish();
    else this.close();
  }

  private onClose(): void {
    this.closed = true;
    this.abandon({ kind: 'unknown', reason: 'connection_lost' });
    this.owner.onClosed(this);
  }

  private finish(): void {
    const { status, retryAfterS, body, reusable, keepAliveS } = this.parser.take();
    const exchange = this.exchange;
    this.exchange = null;
    if (keepAliveS !== null) this.idleMsMax = Math.max(0, keepAliveS * 1_000 - IDLE_MARGIN_MS);
    if (reusable) this.owner.onIdle(this);
    else this.close();
    exchange?.settle({ kind: 'answered', status, retryAfterS, body });
  }
}
