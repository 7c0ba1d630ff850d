import type { FastifyReply } from 'fastify';
import type { Clock, TimerHandle } from '../shared/clock';
import { DeadlineList } from '../bulkhead/deadline-list';
import { PaymentError } from '../shared/problem';
import { AwaitedBody } from './awaited-body';
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
  readonly #awaited: DeadlineList<AwaitedBody>;
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, bodyMsMax: number) {
    this.#clock = clock;
    this.#bodyMsMax = bodyMsMax;
    this.#awaited = new DeadlineList(bodyMsMax);
  }

  get waiting(): number {
    return this.#awaited.size;
  }

  /** The headers have been read and a body is to follow. */
  expect(reply: FastifyReply, nowMs: number): AwaitedBody {
    const body = new AwaitedBody(reply);
    this.#awaited.append(body, nowMs);
    this.#timer ??= this.#clock.schedule(this.#ring, this.#bodyMsMax);
    return body;
  }

  /** The body has been read. */
  arrived(body: AwaitedBody): void {
    if (body.list !== null) this.#awaited.remove(body);
  }

  /** The answer has gone out, or the client has. Kept while the rest of a refused body is still coming. */
  answered(body: AwaitedBody): void {
    const { raw } = body.reply.request;
    if (raw.complete || raw.destroyed) this.arrived(body);
  }

  close(): void {
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
    while (this.#awaited.shift() !== null);
  }

  readonly #ring = (): void => {
    this.#timer = null;
    const nowMs = this.#clock.now();
    for (let due = this.#awaited.shiftDue(nowMs); due !== null; due = this.#awaited.shiftDue(nowMs)) {
      this.#expire(due.reply);
    }
    const { earliestMs } = this.#awaited;
    if (earliestMs !== Infinity) this.#timer = this.#clock.schedule(this.#ring, earliestMs - nowMs);
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
