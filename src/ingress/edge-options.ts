import type { FastifyHttpOptions, FastifyReply, FastifyRequest, FastifyServerOptions, RawServerDefault } from 'fastify';
import { PaymentError } from '../shared/problem';
import { Answers, type AnswersOptions } from './answers';
import { answerClientError } from './client-errors';
import { Exchange } from './exchange';
import { ProblemFilter } from './problem.filter';
import { edgeProblems } from './problems';
import { sendProblem } from './render-problem';
import { requestIdOf } from './request-id';
import { BODY_BYTES_MAX_DEFAULT } from './route';

/** A proxy keeps idle connections 60 s as a rule; the server must not be the one that closes first. */
const KEEP_ALIVE_MS = 72_000;
const HEADERS_MS_MAX = 10_000;
const HEADERS_CHECK_MS = 2_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** A longer path parameter names nothing here: 404. */
const PATH_PARAMETER_CHARACTERS_MAX = 512;

export interface ServerTimes {
  /** For the headers of a request, from its first byte or from the connection's. */
  readonly headersMsMax?: number;
  /** How often that is looked at. */
  readonly headersCheckMs?: number;
  readonly keepAliveMs?: number;
}

/**
 * The options of the Fastify server: `new FastifyAdapter(edgeFastifyOptions(…))`. Create the application with
 * `bodyParser: false`: the edge brings its own parser.
 *
 * - `return503OnClosing: false`: while the server closes, requests still get the edge's own 503.
 * - `forceCloseConnections: 'idle'`: closing ends idle connections and waits for the answers under way.
 * - `requestTimeout: 0`, `connectionTimeout: 0`: bodies have a deadline of their own, executions too, and streams last.
 */
export function edgeFastifyOptions(
  options: AnswersOptions,
  times: ServerTimes = {},
): FastifyServerOptions & FastifyHttpOptions<RawServerDefault> {
  const answers = new Answers(options, () => {});
  const filter = new ProblemFilter(() => {});
  /** What Fastify refuses before any hook runs: a path that cannot be decoded, a parameter that is too long. */
  const answerFrameworkError = (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    answers.follow(request, reply, new Exchange(null, null, false, options.clock.now()));
    if (!options.draining.active) filter.answer(error, request, reply);
    else sendProblem(reply, new PaymentError(edgeProblems.draining, 'This process takes no new work.'));
  };
  return {
    genReqId: (request) => requestIdOf(request),
    requestIdHeader: false,
    logger: false,
    frameworkErrors: (error, request, reply) => answerFrameworkError(error, request, reply),
    clientErrorHandler: answerClientError,
    bodyLimit: BODY_BYTES_MAX_DEFAULT,
    keepAliveTimeout: times.keepAliveMs ?? KEEP_ALIVE_MS,
    connectionTimeout: 0,
    requestTimeout: 0,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: PATH_PARAMETER_CHARACTERS_MAX },
    http: {
      headersTimeout: times.headersMsMax ?? HEADERS_MS_MAX,
      connectionsCheckingInterval: times.headersCheckMs ?? HEADERS_CHECK_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // The edge refuses such a request itself, with a problem document.
      requireHostHeader: false,
    },
  };
}
