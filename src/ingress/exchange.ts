import type { FastifyRequest } from 'fastify';
import type { Execution } from '../bulkhead/bulkhead';
import type { RequestFault } from '../shared/problem';
import type { AwaitedBody } from './awaited-body';
import type { Caller } from './caller';
import type { RoutePolicy } from './route-policy';

const NO_FAULTS: readonly RequestFault[] = [];

/**
 * What the edge knows of one request and its answer, filled in as the request passes the pipeline. One object of
 * one shape per request, made in the first hook.
 */
export class Exchange {
  /** Null for routes that belong to no lane, and where there is no route. */
  readonly policy: RoutePolicy | null;
  /** The route's pattern (`/v1/authorizations/:id`), so that nothing of a request gets into a label; null without one. */
  readonly route: string | null;
  readonly startedAtMs: number;
  /** The body that is to follow the headers; null without one. */
  awaitedBody: AwaitedBody | null = null;
  caller: Caller | null = null;
  idempotencyKey: string | null = null;
  /** `Retry-Attempt`, or what `x-envoy-attempt-count` says of it, whichever is higher; 0 = a first try, null = not said. */
  declaredAttempt: number | null = null;
  /** Faults of the body's text that its parsed value does not show. */
  writtenFaults: readonly RequestFault[] = NO_FAULTS;
  /** When the body had been read; the origin of shed times (contract 14). */
  readAtMs = 0;
  execution: Execution | null = null;
  /** The entry into the bulkhead, to tell it that nobody waits any more; null while there is nothing to tell. */
  entry: { abandon(): void } | null = null;
  /** The code of the problem document it was answered with. */
  problemCode: string | null = null;
  /** Called once when it has ended: answered, or left by its client. */
  onEnded: (() => void) | null = null;
  /** Called with the time from the body's last byte to the answer, where a full lane refused. */
  onShed: ((shedMs: number) => void) | null = null;
  /**
   * The client has closed its side of the connection: it has most likely gone, but an answer may still reach it. See
   * `answers.ts`.
   */
  halfClosed = false;
  /** The answer has been written, or its connection is gone. */
  ended = false;

  constructor(policy: RoutePolicy | null, route: string | null, startedAtMs: number) {
    this.policy = policy;
    this.route = route;
    this.startedAtMs = startedAtMs;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the edge's first hook; null where Fastify answers before any hook runs (a malformed URL). */
    exchange: Exchange | null;
  }

  interface FastifyContextConfig {
    policy?: RoutePolicy;
  }
}

/** @throws Error where the edge is not installed: a fault of the process's construction, never of a request. */
export function exchangeOf(request: FastifyRequest): Exchange {
  if (request.exchange === null || request.exchange === undefined) {
    throw new Error('The edge is not installed on this server');
  }
  return request.exchange;
}

/** The verified caller of a lane route. */
export function callerOf(request: FastifyRequest): Caller {
  const { caller } = exchangeOf(request);
  if (caller === null) throw new Error(`${request.method} ${request.routeOptions.url ?? ''} has no caller: no policy`);
  return caller;
}

/** The running execution of a lane route: its abort signal, its wait in the queue. */
export function executionOf(request: FastifyRequest): Execution {
  const { execution } = exchangeOf(request);
  if (execution === null) throw new Error('Only the handler of an admitted request has an execution');
  return execution;
}

/** The path of a request as its sender wrote it, without the query. */
export function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}
