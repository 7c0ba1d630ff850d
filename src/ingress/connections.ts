import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { Clock, TimerHandle } from '../shared/clock';
import { Connection } from './connection';
import type { Draining } from './draining';

export interface ConnectionTimes {
  /** How long a client may take nothing of an answer. Beyond any execution, whose answer is not written yet anyway. */
  readonly stalledMsMax?: number;
  /** The same while the process drains: who does not read must not hold it for its whole grace. */
  readonly stalledWhileDrainingMsMax?: number;
  readonly stalledCheckMs?: number;
}

const STALLED_MS_MAX = 30_000;
const STALLED_WHILE_DRAINING_MS_MAX = 5_000;
const STALLED_CHECK_MS = 1_000;
/** For the connections that the kernel has accepted before the listener closes; more may keep coming. */
const BACKLOG_MS_MAX = 2_000;
/** For the first request on connections that were made just before. */
const FIRST_REQUEST_MS_MAX = 100;
const FIRST_REQUEST_CHECK_MS = 5;

const connectionBySocket = new WeakMap<object, Connection>();
const connectionsByServer = new WeakMap<object, Connections>();

/** Undefined for an injected request, which has no connection. */
export function connectionOf(socket: Socket): Connection | undefined {
  return connectionBySocket.get(socket);
}

/** @throws Error where the server was not made with the edge's options. */
export function connectionsOf(server: object): Connections {
  const connections = connectionsByServer.get(server);
  if (connections === undefined) throw new Error('The server was not made with edgeFastifyOptions');
  return connections;
}

/** The connections of a process, from being accepted to being closed. */
export class Connections {
  readonly #clock: Clock;
  readonly #draining: Draining;
  readonly #times: Required<ConnectionTimes>;
  readonly #servers: Server[] = [];
  readonly #all = new Set<Connection>();
  #accepted = 0;
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, draining: Draining, times: ConnectionTimes = {}) {
    this.#clock = clock;
    this.#draining = draining;
    this.#times = {
      stalledMsMax: times.stalledMsMax ?? STALLED_MS_MAX,
      stalledWhileDrainingMsMax: times.stalledWhileDrainingMsMax ?? STALLED_WHILE_DRAINING_MS_MAX,
      stalledCheckMs: times.stalledCheckMs ?? STALLED_CHECK_MS,
    };
  }

  follow(server: Server): void {
    this.#servers.push(server);
    connectionsByServer.set(server, this);
    server.on('connection', (socket) => this.#connected(socket));
  }

  /** Whether a request that Node has read is handed on. */
  admits({ socket }: IncomingMessage): boolean {
    return connectionBySocket.get(socket)?.admits() ?? true;
  }

  /**
   * Closes the listener and nothing else. Connections that clients believe to have are taken from the kernel first
   * (closing the listener would reset them), and given a moment for their first request.
   */
  async stopListening(): Promise<void> {
    const giveUpAtMs = this.#clock.now() + BACKLOG_MS_MAX;
    // One connection is accepted in each turn of the event loop.
    for (let accepted = -1; accepted !== this.#accepted && this.#clock.now() < giveUpAtMs;) {
      accepted = this.#accepted;
      await nextTurn();
      await nextTurn();
    }
    // The HTTP server's own `close` would also destroy connections on which a request is just arriving.
    for (const server of this.#servers) NetServer.prototype.close.call(server);
    const enoughAtMs = this.#clock.now() + FIRST_REQUEST_MS_MAX;
    while ([...this.#all].some(({ used }) => !used) && this.#clock.now() < enoughAtMs) {
      await delay(FIRST_REQUEST_CHECK_MS);
    }
  }

  /** Idle, half sent or half answered: for when the last answer is out, or the grace is over. */
  closeAll(): void {
    for (const connection of this.#all) connection.destroy();
  }

  close(): void {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
  }

  #connected(socket: Socket): void {
    const connection = new Connection(socket);
    connectionBySocket.set(socket, connection);
    this.#accepted += 1;
    this.#all.add(connection);
    socket.once('close', () => this.#all.delete(connection));
    this.#timer ??= this.#clock.schedule(this.#check, this.#times.stalledCheckMs);
  }

  readonly #check = (): void => {
    const nowMs = this.#clock.now();
    const { stalledMsMax, stalledWhileDrainingMsMax, stalledCheckMs } = this.#times;
    const limitMs = this.#draining.active ? stalledWhileDrainingMsMax : stalledMsMax;
    for (const connection of this.#all) connection.endIfStalled(nowMs, limitMs);
    this.#timer = this.#all.size === 0 ? null : this.#clock.schedule(this.#check, stalledCheckMs);
  };
}
