import type { FastifyReply } from 'fastify';
import type { PaymentError, ProblemKind } from '../shared/problem';
import { pathOf } from './exchange';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json';

/** How often a well-behaved client tries again at most (contract 7). */
const RETRY_ATTEMPTS_MAX = 3;

export interface ProblemPlace {
  /** The request's path, without its query; null where no request could be read. */
  readonly instance: string | null;
  readonly lane: string | null;
  readonly requestId: string;
}

export interface RenderedProblem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** `ERR_CARD_BUSY` → `urn:payment-core:problem:err-card-busy`. */
export function problemType(code: string): string {
  return `urn:payment-core:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

/**
 * The retry contract of a row: what a client does next, the same figure as in `Retry-After`. The jitter spreads
 * clients that were refused together over as long again.
 */
function retryContract(kind: ProblemKind): Record<string, unknown> {
  if (kind.retryAfterSeconds === undefined) return {};
  return {
    retry: {
      after_seconds: kind.retryAfterSeconds,
      max_attempts: RETRY_ATTEMPTS_MAX,
      jitter_seconds: kind.retryAfterSeconds,
    },
  };
}

/** The one rendering of every answer that is not success (contract 7, RFC 9457). */
export function renderProblem({ kind, message, extras }: PaymentError, place: ProblemPlace): RenderedProblem {
  const document = {
    type: problemType(kind.code),
    title: kind.title,
    status: kind.status,
    detail: message,
    ...(place.instance !== null && { instance: place.instance }),
    code: kind.code,
    ...(place.lane !== null && { lane: place.lane }),
    request_id: place.requestId,
    ...(extras.errors !== undefined && { errors: extras.errors }),
    ...retryContract(kind),
    ...extras.members,
  };
  return {
    status: kind.status,
    headers: {
      'content-type': PROBLEM_CONTENT_TYPE,
      ...(kind.retryAfterSeconds !== undefined && { 'retry-after': String(kind.retryAfterSeconds) }),
      ...extras.headers,
    },
    body: Buffer.from(JSON.stringify(document)),
  };
}

/** Answers a request with a problem. Sent as bytes: Fastify adds a charset to any other JSON payload. */
export function sendProblem(reply: FastifyReply, error: PaymentError): void {
  const { request } = reply;
  const exchange = request.exchange ?? null;
  if (exchange !== null) exchange.problemCode = error.kind.code;
  const { status, headers, body } = renderProblem(error, {
    instance: pathOf(request.url),
    lane: exchange?.policy?.lane ?? null,
    requestId: request.id,
  });
  reply.code(status).headers(headers).send(body);
}
