import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BulkheadRefusedError, ExecutionTimeoutError } from '../bulkhead/bulkhead';
import { PaymentError, type ProblemKind } from '../shared/problem';
import { tooLarge } from './checks';
import type { Draining } from './draining';
import { edgeProblems } from './problems';
import { sendProblem } from './render-problem';
import { allFaultsOf } from './validation';

/** A fault of this process, as it may be logged: what other libraries hang on their errors stays out of the log. */
export interface UnexpectedError {
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
  readonly stack: string | null;
  readonly requestId: string;
  readonly method: string;
  /** The pattern, never the path as sent. */
  readonly route: string | null;
}

/** Fastify's own errors by code: the row, and what to say; a code that is not here is judged by its status. */
const FASTIFY_PROBLEMS: Readonly<Record<string, readonly [ProblemKind, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [edgeProblems.unsupportedMediaType, 'Bodies are `application/json` here.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [edgeProblems.malformedRequest, 'The body is not as long as it was said to be.'],
  FST_ERR_BAD_URL: [edgeProblems.malformedRequest, 'The path cannot be decoded.'],
  FST_ERR_MAX_PARAM_LENGTH: [edgeProblems.notFound, 'Nothing has so long a name.'],
};

/** Errors that carry no more than a status: Nest's exceptions, and whatever libraries throw. */
const BY_STATUS: Readonly<Record<number, readonly [ProblemKind, string]>> = {
  400: [edgeProblems.malformedRequest, 'The request cannot be read.'],
  401: [edgeProblems.unauthenticated, 'Who sent the request is not known.'],
  403: [edgeProblems.forbidden, 'This is not allowed.'],
  404: [edgeProblems.notFound, 'There is nothing at this path.'],
  405: [edgeProblems.methodNotAllowed, 'The path does not have this method.'],
  408: [edgeProblems.requestTimeout, 'The request did not arrive in time.'],
  415: [edgeProblems.unsupportedMediaType, 'Bodies are `application/json` here.'],
  503: [edgeProblems.unavailable, 'This cannot be answered at the moment.'],
};

function statusOf(error: unknown): number | null {
  if (error instanceof HttpException) return error.getStatus();
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : null;
}

/** Nest hands Fastify's errors on inside one of its own. */
function codeOf(error: unknown): unknown {
  const { code, cause } = Object(error) as { code?: unknown; cause?: unknown };
  return code ?? (Object(cause) as { code?: unknown }).code;
}

/** The problem that an error of a library stands for; null where it is a fault of this process. */
function knownProblem(error: unknown, request: FastifyRequest): PaymentError | null {
  const code = codeOf(error);
  if (code === 'FST_ERR_VALIDATION') return allFaultsOf(request);
  if (statusOf(error) === 413) return tooLarge(request.routeOptions.bodyLimit);
  const row = (typeof code === 'string' && FASTIFY_PROBLEMS[code]) || BY_STATUS[statusOf(error) ?? 500];
  return row ? new PaymentError(row[0], row[1]) : null;
}

/**
 * The one place where a failure of any kind becomes an answer (contract 7): the domain's errors, the bulkhead's,
 * Fastify's, Nest's, and everything that nobody expected, which says nothing to the caller and all to the log.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #onUnexpected: (error: UnexpectedError) => void;
  readonly #draining: Pick<Draining, 'active'>;

  constructor(onUnexpected: (error: UnexpectedError) => void, draining: Pick<Draining, 'active'>) {
    this.#onUnexpected = onUnexpected;
    this.#draining = draining;
  }

  catch(error: unknown, host: ArgumentsHost): void {
    this.answer(error, host.getArgByIndex<FastifyRequest>(0), host.getArgByIndex<FastifyReply>(1));
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (isUnreachable(error, request, reply)) {
      // Nobody is there to answer; what the handler would still send must not be tried.
      if (!reply.sent) reply.hijack();
      // One that has merely closed its side would hold the other side open.
      reply.raw.destroy();
      return;
    }
    // Fastify closes the connection after a body that it could not use; the rest of it is read and dropped instead,
    // until the body's deadline, so that the sender sees this answer and not a reset.
    // While the process drains the header is the edge's own, and stays.
    if (!this.#draining.active) reply.removeHeader('connection');
    const problem = this.#problemOf(error, request);
    if (reply.sent || reply.raw.headersSent) {
      // Half an answer is out: only a broken connection tells the caller that it is not a whole one.
      reply.raw.destroy();
      return;
    }
    sendProblem(reply, problem);
  }

  #problemOf(error: unknown, request: FastifyRequest): PaymentError {
    if (error instanceof PaymentError) {
      if (error.kind.status === 500) this.#report(error, request);
      return error;
    }
    if (error instanceof ExecutionTimeoutError) {
      return new PaymentError(edgeProblems.executionTimeout, 'The work did not end within its limit.');
    }
    if (error instanceof BulkheadRefusedError) {
      return new PaymentError(edgeProblems.unavailable, 'The lane does not take this request at the moment.');
    }
    const problem = knownProblem(error, request);
    if (problem !== null) return problem;
    this.#report(error, request);
    return new PaymentError(edgeProblems.internal, 'The request failed for a reason that is not its own.');
  }

  #report(error: unknown, request: FastifyRequest): void {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    const { code } = Object(error) as { code?: unknown };
    this.#onUnexpected({
      name,
      message,
      stack: stack ?? null,
      code: typeof code === 'string' ? code : null,
      requestId: request.id,
      method: request.method,
      route: request.exchange?.route ?? null,
    });
  }
}

/** The client left, in the middle of its body or while its request waited. */
function isUnreachable(error: unknown, request: FastifyRequest, reply: FastifyReply): boolean {
  if (error instanceof BulkheadRefusedError && error.reason === 'client_abort') return true;
  const { halfClosed = false, execution } = request.exchange ?? {};
  if (halfClosed && !(error instanceof PaymentError) && execution?.signal.aborted === true) return true;
  return reply.raw.destroyed || (request.raw.destroyed && !request.raw.complete);
}
