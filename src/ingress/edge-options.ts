import { createServer, type Server } from 'node:http';
import type {
  FastifyHttpOptions,
  FastifyReply,
  FastifyRequest,
  FastifyServerFactory,
  FastifyServerOptions,
  RawServerDefault,
} from 'fastify';
import { PaymentError } from '../shared/problem';
import { Answers, type AnswersOptions } from './answers';
import { answerClientError, answerConnect, answerExpectation } from './client-errors';
import { Connections, type ConnectionTimes } from './connections';
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

export interface ServerTimes extends ConnectionTimes {
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
 * - `requestTimeout: 0`, and no timer per socket: bodies have a deadline of their own, executions too, streams last,
 *   and an answer that is not read has `Connections`.
 */
export function edgeFastifyOptions(
  options: AnswersOptions,
  times: ServerTimes = {},
): FastifyServerOptions & FastifyHttpOptions<RawServerDefault> {
  const answers = new Answers(options, () => {});
  const filter = new ProblemFilter(() => {}, options.draining);
  /** What Fastify refuses before any hook runs: a path that cannot be decoded, a parameter that is too long. */
  const answerFrameworkError = (error: Error, request: FastifyRequest, reply: FastifyReply): void => {
    answers.follow(request, reply, new Exchange(null, null, options.clock.now()));
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
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: PATH_PARAMETER_CHARACTERS_MAX },
    serverFactory: serverFactory(options, times),
  };
}

/**
 * The server under Fastify. `httpAllowHalfOpen`: a client that closes its side after its request still gets its
 * answer; without it Node closes the other side at once, and work that is done is answered with nothing.
 */
function serverFactory({ clock, draining }: AnswersOptions, times: ServerTimes): FastifyServerFactory {
  const connections = new Connections(clock, draining, times);
  return (handle) => {
    const server = createServer(
      {
        headersTimeout: times.headersMsMax ?? HEADERS_MS_MAX,
        connectionsCheckingInterval: times.headersCheckMs ?? HEADERS_CHECK_MS,
        maxHeaderSize: HEADERS_BYTES_MAX,
        keepAliveTimeout: times.keepAliveMs ?? KEEP_ALIVE_MS,
        requestTimeout: 0,
        // The edge refuses such a request itself, with a problem document.
        requireHostHeader: false,
      },
      (request, response) => {
        if (connections.admits(request)) handle(request, response);
      },
    ) as Server & { httpAllowHalfOpen: boolean };
    server.httpAllowHalfOpen = true;
    server.on('checkExpectation', answerExpectation).on('connect', answerConnect);
    connections.follow(server);
    return server;
  };
}
