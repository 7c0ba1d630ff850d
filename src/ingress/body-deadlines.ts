import type { FastifyReply } from 'fastify';
import type { Clock, TimerHandle } from '../shared/clock';
import { PaymentError } from '../shared/problem';
import { edgeProblems } from './problems';
import { sendProblem } from './render-problem';

/**
 * Bodies that are on their way. Each must have arrived a constant time after its headers (contract 7), so the order
 * of arrival is the order of the deadlines and one timer serves them all. A request that was answered before its
 * body came stays in here until the rest has been read and thrown away: nobody holds a connection by trickling.
 */
export class BodyDeadlines {
  readonly #clock: Clock;
  readonly #bodyMsMax: number;
  readonly #dueMs = new Map<FastifyReply, number>();
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, bodyMsMax: number) {
    this.#clock = clock;
    this.#bodyMsMax = bodyMsMax;
  }

  get waiting(): number {
    return this.#dueMs.size;
  }

  /** The headers have been read and a body is to follow. */
  expect(reply: FastifyReply, nowMs: number): void {
    this.#dueMs.set(reply, nowMs + this.#bodyMsMax);
    this.#timer ??= this.#clock.schedule(this.#ring, this.#bodyMsMax);
  }

  /** The body has been read. */
  arrived(reply: FastifyReply): void {
    this.#dueMs.delete(reply);
  }

  /** The answer has gone out, or the client has. Kept while the rest of a refused body is still coming. */
  answered(reply: FastifyReply): void {
    const { raw } = reply.request;
    if (raw.complete || raw.destroyed) this.#dueMs.delete(reply);
  }

  close(): void {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
    this.#dueMs.clear();
  }

  readonly #ring = (): void => {
    this.#timer = null;
    const nowMs = this.#clock.now();
    for (const [reply, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) {
        this.#timer = this.#clock.schedule(this.#ring, dueMs - nowMs);
        return;
      }
      this.#dueMs.delete(reply);
      this.#expire(reply);
    }
  };

  #expire(reply: FastifyReply): void {
    const { raw } = reply.request;
    if (raw.complete || raw.destroyed) return;
    if (reply.sent || reply.raw.headersSent) {
      raw.destroy();
      return;
    }
    const detail = `The body did not arrive within ${this.#bodyMsMax / 1000} s of the headers.`;
    sendProblem(reply, new PaymentError(edgeProblems.requestTimeout, detail, { headers: { connection: 'close' } }));
  }
}
