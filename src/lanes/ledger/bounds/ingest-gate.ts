import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../../ingress/caller';
import { callerOf, type Exchange, exchangeOf } from '../../../ingress/exchange';
import type { Check, Verdict, Visit } from '../../../ingress/pipeline';
import { edgeProblems } from '../../../ingress/problems';
import type { Clock } from '../../../shared/clock';
import { PaymentError } from '../../../shared/problem';
import type { AdmissionVerdict, IngestRoom } from '../ledger';
import { ledgerProblems } from '../ledger.problems';
import { HeldBody } from './held-body';

/** Why a request found no room; the first two are the buffer's words. */
export type Refusal = Exclude<AdmissionVerdict, 'admitted'> | 'waited' | 'left';

const DETAILS: Readonly<Record<Refusal, string>> = {
  no_room: 'There is no room for these items now: nothing of this request was admitted.',
  callers_half: 'One caller holds half of the room at most, and this one does: nothing of this request was admitted.',
  waited: 'The ledger did not come to read this request in time: nothing of it was admitted.',
  left: 'The client has gone.',
};

export interface IngestGateOptions {
  readonly room: IngestRoom;
  readonly clock: Clock;
  /** How long a request lies unread at most (contract 11). */
  readonly unreadMsMax: number;
  /** Requests that lie unread at once; each is a connection with its headers, and nothing more. */
  readonly unreadMax: number;
  /** Told of each request that found no room, once. */
  readonly onRefused: (reason: 'full' | 'queue_timeout' | 'client_abort') => void;
}

/**
 * Room for a body before it is read (contract 11, bounds). Its bytes are reserved by their declared length; while the
 * buffer is congested the request is not read at all, so that its sender's writes stop, for a second at most.
 */
export class IngestGate {
  readonly #options: IngestGateOptions;
  readonly #bodies = new WeakMap<Exchange, HeldBody>();
  #unread = 0;

  constructor(options: IngestGateOptions) {
    this.#options = options;
  }

  /** Requests that lie unread now. */
  get unread(): number {
    return this.#unread;
  }

  readonly check: Check = (visit) => {
    const { room, unreadMax } = this.#options;
    const verdict = room.verdict(1, keyOf(visit));
    if (verdict !== 'admitted') return this.refuse(verdict);
    if (!room.congested) return this.#reserve(visit);
    return this.#unread < unreadMax ? this.#wait(visit) : this.refuse('no_room');
  };

  /**
   * Hands the text of a body on, and holds its room until the work has ended, whoever has left meanwhile.
   *
   * @throws PaymentError 400 where there is no body.
   */
  async hold<T>(request: FastifyRequest, work: (text: string, caller: Caller) => Promise<T>): Promise<T> {
    const exchange = exchangeOf(request);
    const { body: text } = request;
    const body = this.#bodies.get(exchange);
    if (body === undefined || typeof text !== 'string') {
      throw new PaymentError(edgeProblems.malformedJson, 'The body is empty.');
    }
    if (!body.take()) throw this.refuse('left');
    // What was sent in chunks has been reserved as the longest body there is.
    if (request.headers['content-length'] === undefined) body.shrinkTo(Buffer.byteLength(text));
    request.body = null;
    try {
      return await work(text, callerOf(request));
    } finally {
      body.release();
    }
  }

  /** The answer to a request without room, counted. */
  refuse(refusal: Refusal): PaymentError {
    this.#options.onRefused(refusal === 'waited' ? 'queue_timeout' : refusal === 'left' ? 'client_abort' : 'full');
    return new PaymentError(ledgerProblems.full, DETAILS[refusal]);
  }

  #reserve({ request, exchange }: Visit): Verdict {
    const declared = request.headers['content-length'];
    // Without a length it may be as long as any body here; what is not needed is given back when it has been read.
    const bytes = declared === undefined ? (exchange.policy?.bodyBytesMax ?? 0) : Number(declared);
    const body = HeldBody.reserve(this.#options.room, bytes, keyOf({ exchange }));
    if (typeof body === 'string') return this.refuse(body);
    this.#bodies.set(exchange, body);
    exchange.onEnded = () => body.requestEnded();
    return null;
  }

  #wait(visit: Visit): Promise<Verdict> {
    const { room, clock, unreadMsMax } = this.#options;
    const { exchange } = visit;
    this.#unread += 1;
    return new Promise((resolve) => {
      const end = (verdict: () => Verdict): void => {
        stopWaiting();
        clock.cancel(timer);
        exchange.entry = null;
        this.#unread -= 1;
        resolve(verdict());
      };
      const stopWaiting = room.whenOpen(() => end(() => this.#enter(visit)));
      const timer = clock.schedule(() => end(() => this.refuse('waited')), unreadMsMax);
      exchange.entry = { abandon: () => end(() => this.refuse('left')) };
    });
  }

  /** The room has opened; those before it may have taken all of it. */
  #enter(visit: Visit): Verdict {
    const verdict = this.#options.room.verdict(1, keyOf(visit));
    return verdict === 'admitted' ? this.#reserve(visit) : this.refuse(verdict);
  }
}

function keyOf({ exchange }: Pick<Visit, 'exchange'>): string {
  if (exchange.caller === null) throw new Error('The bounds come after identity');
  return exchange.caller.subject;
}
