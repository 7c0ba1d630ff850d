import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../shared/clock';
import type { Draining } from './draining';
import type { Exchange } from './exchange';
import { REQUEST_ID_HEADER } from './request-id';

/** A request that is over, for the access log and for metrics. */
export interface Answered {
  readonly method: string;
  /** The route's pattern; null where no route matched. */
  readonly route: string | null;
  readonly lane: string | null;
  /** What was, or would have been, answered. */
  readonly status: number;
  /** The client went before the answer was out. */
  readonly aborted: boolean;
  readonly durationMs: number;
  readonly requestId: string;
  /** The problem's code; null for success. */
  readonly code: string | null;
}

export interface AnswersOptions {
  readonly clock: Clock;
  readonly draining: Draining;
  /** Called once for each request that Node could read; must be cheap and must not throw. */
  readonly onAnswered?: (answered: Answered) => void;
}

/**
 * Follows every request to its end: answered to the last byte, or left by its client. Only the response's own
 * `finish` and `close` tell the truth; Fastify's `onResponse` and `onRequestAbort` stay silent on a disconnect.
 */
export class Answers {
  readonly #options: AnswersOptions;
  readonly #pipelined = new PipelinedResponses();
  readonly #onEnd: (reply: FastifyReply, exchange: Exchange) => void;

  /** @param onEnd What else the edge does at the end of a request. */
  constructor(options: AnswersOptions, onEnd: (reply: FastifyReply, exchange: Exchange) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  follow(request: FastifyRequest, reply: FastifyReply, exchange: Exchange): void {
    const { raw } = reply;
    request.exchange = exchange;
    reply.header(REQUEST_ID_HEADER, request.id);
    this.#options.draining.opened(raw);
    const cut = (): void => this.#end(reply, exchange, !raw.writableFinished);
    // `finish` alone would miss disconnects; `close` alone never comes for an injected request.
    raw.once('finish', () => this.#end(reply, exchange, false)).once('close', cut);
    if (raw.socket === null) this.#pipelined.follow(request.raw.socket, raw, cut);
  }

  #end(reply: FastifyReply, exchange: Exchange, aborted: boolean): void {
    if (exchange.ended) return;
    exchange.ended = true;
    const { clock, draining, onAnswered } = this.#options;
    const { request, raw } = reply;
    draining.closed(raw);
    this.#onEnd(reply, exchange);
    if (aborted) exchange.abandon?.();
    const nowMs = clock.now();
    if (!aborted) exchange.onShed?.(nowMs - exchange.readAtMs);
    onAnswered?.({
      method: request.method,
      route: exchange.route,
      lane: exchange.policy?.lane ?? null,
      status: raw.statusCode,
      aborted,
      durationMs: nowMs - exchange.startedAtMs,
      requestId: request.id,
      code: exchange.problemCode,
    });
  }
}

/**
 * Requests that came in behind others on their connection. Their responses have no socket before it is their turn,
 * and so never close when the connection does: this tells them, with one listener per connection.
 */
class PipelinedResponses {
  readonly #ends = new WeakMap<Socket, Map<ServerResponse, () => void>>();

  follow(socket: Socket, response: ServerResponse, end: () => void): void {
    const ends = this.#endsOf(socket);
    ends.set(response, end);
    response.once('close', () => ends.delete(response));
  }

  #endsOf(socket: Socket): Map<ServerResponse, () => void> {
    const known = this.#ends.get(socket);
    if (known !== undefined) return known;
    const ends = new Map<ServerResponse, () => void>();
    this.#ends.set(socket, ends);
    socket.once('close', () => {
      for (const end of ends.values()) end();
    });
    return ends;
  }
}
