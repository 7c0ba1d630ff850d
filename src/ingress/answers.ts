import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../shared/clock';
import type { OpenRequest } from './connection';
import { connectionOf } from './connections';
import { type Draining, OpenAnswer } from './draining';
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
  readonly #onEnd: (exchange: Exchange) => void;

  /** @param onEnd What else the edge does at the end of a request. */
  constructor(options: AnswersOptions, onEnd: (exchange: Exchange) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  follow(request: FastifyRequest, reply: FastifyReply, exchange: Exchange): void {
    request.exchange = exchange;
    reply.header(REQUEST_ID_HEADER, request.id);
    const connection = connectionOf(request.raw.socket);
    const followed = new Followed(reply, exchange, (aborted) => {
      connection?.closed(followed);
      this.#options.draining.closed(followed);
      this.#end(reply, exchange, aborted);
    });
    this.#options.draining.opened(followed);
    // It comes once by itself; `once` would cost a wrapper for each request.
    reply.raw.on('finish', followed.finish);
    if (connection !== undefined) connection.opened(followed);
    // An injected request: its response closes by itself.
    else reply.raw.on('close', () => followed.cut());
  }

  #end(reply: FastifyReply, exchange: Exchange, aborted: boolean): void {
    const { clock, onAnswered } = this.#options;
    const { request, raw } = reply;
    this.#onEnd(exchange);
    if (aborted) exchange.entry?.abandon();
    exchange.onEnded?.();
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

/** One request from its headers to the end of its answer, which comes once, whatever tells of it. */
class Followed extends OpenAnswer implements OpenRequest {
  readonly request: IncomingMessage;
  readonly #exchange: Exchange;
  readonly #onEnd: (aborted: boolean) => void;

  constructor(reply: FastifyReply, exchange: Exchange, onEnd: (aborted: boolean) => void) {
    super(reply.raw);
    this.request = reply.request.raw;
    this.#exchange = exchange;
    this.#onEnd = onEnd;
  }

  readonly finish = (): void => this.#end(false);

  cut(): void {
    this.#end(!this.response.writableFinished);
  }

  /**
   * Nearly every client that leaves does so by closing its side, and is taken to have left: it gives up its place in
   * the queue, and aborts what the lane aborts (contract 4.5, 4.9). Some have only nothing more to send: where the
   * work has an answer all the same, it is written, and is the last one on the connection.
   */
  halfClosed(): void {
    this.#exchange.halfClosed = true;
    this.#exchange.entry?.abandon();
  }

  #end(aborted: boolean): void {
    if (this.#exchange.ended) return;
    this.#exchange.ended = true;
    this.#onEnd(aborted);
  }
}
