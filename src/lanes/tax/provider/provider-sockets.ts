import type { Socket } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { ProviderResolver } from './provider-resolver';

export interface ProviderSocketsOptions {
  /** Connections at most: as many as the lane has permits, so that a call never waits for another one's. */
  readonly connectionsMax: number;
  readonly connectMsMax: number;
  readonly responseBytesMax: number;
}

/**
 * The lane's own dispatcher: bounded connections, one request at a time on each, and its own resolver. It knows its
 * sockets, since a permit comes back when a socket is really closed and not when somebody has asked for it (contract 6).
 */
export class ProviderSockets {
  readonly #options: ProviderSocketsOptions;
  readonly #resolver = new ProviderResolver();
  readonly #open = new Set<Socket>();
  #agent: Agent;

  constructor(options: ProviderSocketsOptions) {
    this.#options = options;
    this.#agent = this.#newAgent();
  }

  get dispatcher(): Dispatcher {
    return this.#agent;
  }

  /** Sockets that are open or being opened, or closing. */
  get size(): number {
    return this.#open.size;
  }

  /** Resolves when every socket that is being destroyed at this moment is closed. */
  async closing(): Promise<void> {
    const dying = [...this.#open].filter((socket) => socket.destroyed);
    await Promise.all(dying.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))));
  }

  /** Destroys all of them, calls under way included; later calls open new ones [MC-RT-01]. */
  async destroyAll(): Promise<void> {
    const former = this.#agent;
    this.#agent = this.#newAgent();
    await former.destroy();
    await this.closing();
  }

  async close(): Promise<void> {
    this.#resolver.close();
    await this.#agent.destroy();
  }

  #newAgent(): Agent {
    const { connectionsMax, connectMsMax, responseBytesMax } = this.#options;
    const connect = buildConnector({ allowH2: false, timeout: connectMsMax, lookup: this.#resolver.lookup });
    return new Agent({
      connections: connectionsMax,
      pipelining: 1,
      allowH2: false,
      maxResponseSize: responseBytesMax,
      // The socket is returned, which the type does not say: undici cancels an attempt that nobody waits for by it.
      connect: (options, callback) => this.#follow(connect(options, callback) as unknown as Socket),
    });
  }

  #follow(socket: Socket): Socket {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  }
}
