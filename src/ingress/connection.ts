import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests on one connection that are not answered to the last byte. No client library pipelines so deep; Node reads
 * whatever one chunk holds in one go, and without a bound one write of 64 KiB would hold the event loop.
 */
const REQUESTS_MAX = 64;

/** A request that has not been answered to the last byte, as its connection sees it. */
export interface OpenRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client has closed its side of the connection. */
  halfClosed(): void;
  /** The connection has gone. */
  cut(): void;
}

/**
 * One client's connection: what is open on it, in the order in which it will be answered. Responses that wait for
 * their turn have no socket, so that they neither close when the connection does nor tell whether it is read.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #open: OpenRequest[] = [];
  #used = false;
  #farewell: Buffer | null = null;
  #stalledSinceMs: number | null = null;
  #handedOver = 0;
  #writeQueue = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('end', () => {
      for (const one of [...this.#open]) one.halfClosed();
    });
    socket.once('close', () => {
      for (const one of [...this.#open]) one.cut();
    });
  }

  /** A request has been read on it. */
  get used(): boolean {
    return this.#used;
  }

  get requests(): number {
    return this.#open.length;
  }

  /** It has been found to speak no HTTP, and waits for its last words. */
  get failed(): boolean {
    return this.#farewell !== null;
  }

  /**
   * Whether a request that has been read may go on. One too many ends the connection at once: to keep it for the
   * answers under way would mean to hold what else was sent, and a client that pipelines may count on no answer
   * anyway (RFC 9112, 9.3.2). The work that has begun goes on as for any client that leaves.
   */
  admits(): boolean {
    if (this.#socket.destroyed) return false;
    if (this.#open.length < REQUESTS_MAX) return true;
    this.#socket.destroy();
    return false;
  }

  opened(one: OpenRequest): void {
    this.#used = true;
    this.#open.push(one);
  }

  closed(one: OpenRequest): void {
    const at = this.#open.indexOf(one);
    if (at === 0) this.#open.shift();
    else if (at > 0) this.#open.splice(at, 1);
    if (this.#farewell !== null) this.#sayFarewell();
  }

  /**
   * Something else than HTTP arrived. What was read whole before it is answered first: anything written now would be
   * taken for that answer. Of a request whose body broke off, this is the answer.
   */
  fail(farewell: Buffer): void {
    if (this.#farewell !== null) return;
    this.#farewell = farewell;
    this.#sayFarewell();
  }

  #sayFarewell(): void {
    if (this.#open.some(({ request }) => request.complete)) return;
    const socket = this.#socket;
    const started = this.#open.some(({ response }) => response.headersSent);
    if (started || !socket.writable || this.#farewell === null) {
      socket.destroy();
      return;
    }
    socket.end(this.#farewell, () => socket.destroy());
  }

  /** Ends it where bytes wait to be sent and the client has taken none for the time. A slow reader is no stalled one. */
  endIfStalled(nowMs: number, stalledMsMax: number): void {
    const socket = this.#socket;
    if (socket.writableLength === 0) {
      this.#stalledSinceMs = null;
      return;
    }
    // Within one large write only the kernel's part of it moves; Node's own socket timer looks at the same figure.
    const { _handle: handle } = socket as Socket & { _handle?: { readonly writeQueueSize?: number } | null };
    const writeQueue = handle?.writeQueueSize ?? 0;
    const handedOver = socket.bytesWritten - socket.writableLength;
    const moved = handedOver !== this.#handedOver || writeQueue !== this.#writeQueue;
    this.#handedOver = handedOver;
    this.#writeQueue = writeQueue;
    if (moved || this.#stalledSinceMs === null) this.#stalledSinceMs = nowMs;
    else if (nowMs - this.#stalledSinceMs >= stalledMsMax) socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}
