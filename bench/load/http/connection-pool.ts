import { Connection, type ConnectionOptions } from './connection';
import { type Exchange, type Outcome } from './exchange';

export interface ConnectionPoolOptions {
  host: string;
  port: number;
  /** Opened by {@link ConnectionPool.open}, before the first request. */
  connections: number;
  /** Requests without an answer, and so connections too: one request more is refused by `send`. */
  inFlightMax: number;
  connectMsMax: number;
  /** Counted from `send`; later the request's outcome is unknown and its connection is destroyed. */
  answerMsMax: number;
  /** Monotonic, in milliseconds. */
  nowMs: () => number;
}

const READ_BUFFER_BYTES = 64 * 1024;
const SWEEP_MS = 50;

interface Running {
  connection: Connection;
  deadlineMs: number;
}

/**
 * Connections to one server. A request takes the idle connection used last, or opens one: it never waits in the client
 * for another request's answer, since that wait would hide the server's.
 */
export class ConnectionPool {
  private readonly idle: Connection[] = [];
  private readonly all = new Set<Connection>();
  /** In the order of sending; the limit is constant, so also in the order of deadlines. */
  private readonly running = new Set<Running>();
  private readonly connectionOptions: ConnectionOptions;
  private readonly sweeper: NodeJS.Timeout;
  private opening: { wanted: number; done: () => void } | null = null;
  private closing = false;

  constructor(private readonly options: ConnectionPoolOptions) {
    this.connectionOptions = {
      host: options.host,
      port: options.port,
      readBuffer: Buffer.allocUnsafeSlow(READ_BUFFER_BYTES),
    };
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS);
  }

  get inFlight(): number {
    return this.running.size;
  }

  /** Opens the first connections; rejects where the server accepts none within the limit. */
  async open(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.opening = { wanted: this.options.connections, done: resolve };
      timer = setTimeout(resolve, this.options.connectMsMax);
      for (let opened = 0; opened < this.options.connections; opened += 1) this.connect();
    });
    clearTimeout(timer);
    this.opening = null;
    if (this.idle.length < this.options.connections) {
      const { host, port, connections } = this.options;
      throw new Error(`${this.idle.length} of ${connections} connections to ${host}:${port} could be opened`);
    }
  }

  /** False: as many requests as allowed have no answer yet, and this one was not taken. */
  send(request: string, exchange: Exchange): boolean {
    if (this.closing || this.running.size >= this.options.inFlightMax) return false;
    const nowMs = this.options.nowMs();
    const connection = this.takeIdle(nowMs) ?? this.connect();
    const running: Running = { connection, deadlineMs: nowMs + this.options.answerMsMax };
    this.running.add(running);
    connection.send(request, {
      wantsBody: (status) => exchange.wantsBody(status),
      settle: (outcome: Outcome) => {
        this.running.delete(running);
        exchange.settle(outcome);
      },
    });
    return true;
  }

  /** Ends every connection; requests still without an answer become unknown. */
  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.sweeper);
    for (const { connection } of [...this.running]) connection.abandon({ kind: 'unknown', reason: 'timeout' });
    for (const connection of this.all) connection.close();
    this.idle.length = 0;
  }

  private connect(): Connection {
    const connection: Connection = new Connection(this.connectionOptions, {
      onIdle: (idle) => {
        idle.idleSinceMs = this.options.nowMs();
        this.idle.push(idle);
        if (this.opening !== null && this.idle.length >= this.opening.wanted) this.opening.done();
      },
      onClosed: (gone) => {
        this.all.delete(gone);
        // While opening, a refused connection is final: waiting for the limit would tell nothing more.
        if (this.opening !== null && this.all.size < this.opening.wanted) this.opening.done();
      },
    });
    this.all.add(connection);
    return connection;
  }

  private takeIdle(nowMs: number): Connection | null {
    for (let candidate = this.idle.pop(); candidate !== undefined; candidate = this.idle.pop()) {
      if (candidate.usable && !candidate.isStale(nowMs)) return candidate;
      candidate.close();
    }
    return null;
  }

  private sweep(): void {
    const nowMs = this.options.nowMs();
    for (const running of this.running) {
      if (running.deadlineMs > nowMs) break;
      running.connection.abandon({ kind: 'unknown', reason: 'timeout' });
    }
  }
}
