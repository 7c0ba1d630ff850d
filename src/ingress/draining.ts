import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { IntrusiveList, ListNode } from '../bulkhead/intrusive-list';

/**
 * An answer that is not out yet. It carries its own links: a `Set` of requests replaces its table every few of them, and
 * each table that V8 has promoted keeps all later ones alive, requests and all, until the whole heap is marked.
 */
export class OpenAnswer extends ListNode<OpenAnswer> {
  constructor(readonly response: ServerResponse) {
    super();
  }
}

/**
 * The end of a process as its callers see it (contract 13): from `begin` on each answer closes its connection and
 * new lane work is refused; `idle` tells when the last answer has gone out. It follows answers, not requests, since
 * only the response's own end survives a client that disconnects.
 */
export class Draining {
  #active = false;
  readonly #open = new IntrusiveList<OpenAnswer>();
  #idle: PromiseWithResolvers<void> | null = null;

  get active(): boolean {
    return this.#active;
  }

  /** Requests that have not been answered to the last byte. */
  get inFlight(): number {
    return this.#open.size;
  }

  begin(): void {
    if (this.#active) return;
    this.#active = true;
    // Of requests behind one another on a connection the last one closes it: what was accepted is answered.
    const lastOf = new Map<Socket, ServerResponse>();
    for (let open = this.#open.head; open !== null; open = open.next) {
      lastOf.set(open.response.req.socket, open.response);
    }
    for (const response of lastOf.values()) closeAfter(response);
  }

  /** Resolves when nothing is in flight. New requests put it off, refusals too: the caller sets the limit. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  opened(answer: OpenAnswer): void {
    this.#open.push(answer);
    if (this.#active) closeAfter(answer.response);
  }

  /** Once per answer, whether it was written or its client has gone. */
  closed(answer: OpenAnswer): void {
    this.#open.remove(answer);
    if (this.#open.size > 0 || this.#idle === null) return;
    this.#idle.resolve();
    this.#idle = null;
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}
