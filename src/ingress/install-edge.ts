import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PaymentError, type ProblemKind } from '../shared/problem';
import { AllowedMethods } from './allowed-methods';
import { Answers, type AnswersOptions } from './answers';
import { BodyDeadlines } from './body-deadlines';
import { BodyGates } from './body-gates';
import { headersChecks } from './checks';
import { connectionsOf } from './connections';
import { Exchange } from './exchange';
import type { TokenVerifier } from './identity';
import { installJsonBody } from './json-body';
import { arrange, HEADERS_ORDER, walk, type Check, type Step } from './pipeline';
import { ProblemFilter, type UnexpectedError } from './problem.filter';
import { edgeProblems } from './problems';
import { sendProblem } from './render-problem';
import { isRepeated, type RetryGuardMode } from './request-headers';
import { allFaultsOf, zodValidatorCompiler } from './validation';

/** A body must have arrived this long after its headers (contract 7). */
const BODY_MS_MAX = 10_000;

export interface EdgeOptions extends AnswersOptions {
  readonly tokens: Pick<TokenVerifier, 'verify'>;
  readonly retryGuard: RetryGuardMode;
  /** A fault of this process that was answered 500: the only trace of it. */
  readonly onUnexpected: (error: UnexpectedError) => void;
  /** Lane work refused because the process is draining: counted here, since no bulkhead has seen it. */
  readonly onDrainingRefusal?: (lane: string) => void;
  readonly bodyMsMax?: number;
  /** What lanes ask before a body is read; without them nobody asks. */
  readonly bodyGates?: BodyGates;
}

export interface Edge {
  /** Bodies that are on their way. */
  readonly bodiesAwaited: number;
  /** Closes the listener and no connection; resolves when each has had a moment for its first request. */
  stopListening(): Promise<void>;
  /** For the process's shutdown, after the last answer: connections that are idle, half sent or not read. */
  closeConnections(): void;
  /** Forgets its timers. */
  close(): void;
}

/**
 * Installs the edge on an application that has been created with `bodyParser: false` and `edgeFastifyOptions`, and
 * not yet initialised: routes must come after the hooks that gather them.
 *
 * The life of a request: `onRequest` (the one hook below, everything before the body) → body (`json-body.ts`) →
 * `preValidation` → schemas (`validation.ts`) → the lane's `AdmissionInterceptor` → handler → `ProblemFilter`.
 */
export function installEdge(app: NestFastifyApplication, options: EdgeOptions): Edge {
  const fastify = app.getHttpAdapter().getInstance();
  const bodies = new BodyDeadlines(options.clock, options.bodyMsMax ?? BODY_MS_MAX);
  const connections = connectionsOf(fastify.server);
  const services = {
    draining: options.draining,
    allowedMethods: new AllowedMethods(fastify),
    tokens: options.tokens,
    retryGuard: options.retryGuard,
    bodyGates: options.bodyGates ?? new BodyGates(),
    onDrainingRefusal: options.onDrainingRefusal ?? ((): void => {}),
  };

  installJsonBody(fastify);
  fastify.setValidatorCompiler(zodValidatorCompiler);
  app.useGlobalFilters(new ProblemFilter(options.onUnexpected, options.draining));
  fastify.decorateRequest('exchange', null);
  fastify.addHook('onRoute', (route) => {
    const policy = route.config?.policy;
    if (policy !== undefined) route.bodyLimit = policy.bodyBytesMax;
  });
  addHooks(fastify, options, bodies, arrange(HEADERS_ORDER, headersChecks(services)));

  return {
    get bodiesAwaited() {
      return bodies.waiting;
    },
    stopListening: () => connections.stopListening(),
    closeConnections: () => connections.closeAll(),
    close: () => {
      bodies.close();
      connections.close();
    },
  };
}

function addHooks(
  fastify: FastifyInstance,
  options: EdgeOptions,
  bodies: BodyDeadlines,
  steps: readonly Step<string, Check>[],
): void {
  const { clock } = options;
  const answers = new Answers(options, (exchange) => {
    if (exchange.awaitedBody !== null) bodies.answered(exchange.awaitedBody);
  });

  fastify.addHook('onRequest', (request, reply, done) => {
    const { config, url } = request.routeOptions;
    const route = request.is404 ? null : (url ?? null);
    const exchange = new Exchange(config.policy ?? null, route, clock.now());
    answers.follow(request, reply, exchange);
    if (hasBody(request)) exchange.awaitedBody = bodies.expect(reply, exchange.startedAtMs);

    const fault = framingFault(request);
    if (fault !== null) return sendProblem(reply, fault);
    // Routes of no lane: health, metrics and operator pages stay open, draining or not (contract 4.1).
    if (exchange.policy === null && !request.is404) return done();
    walk(steps, { request, reply, exchange }, (error) => {
      if (error === null) done();
      else if (error instanceof PaymentError) sendProblem(reply, error);
      else done(error);
    });
  });

  fastify.addHook('preValidation', (request, reply, done) => {
    const { exchange } = request;
    if (exchange !== null) {
      // A method whose body nobody reads comes here before its body does: the deadline goes on.
      if (exchange.awaitedBody !== null && request.raw.complete) bodies.arrived(exchange.awaitedBody);
      exchange.readAtMs = clock.now();
      if (exchange.writtenFaults.length > 0) return sendProblem(reply, allFaultsOf(request));
    }
    done();
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** What Node's parser lets through of RFC 9112 (3.2, 6.1), or would answer without a body. */
function framingFault({ raw }: FastifyRequest): PaymentError | null {
  const { host, 'transfer-encoding': coding } = raw.headers;
  const fault = (kind: ProblemKind, detail: string): PaymentError =>
    new PaymentError(kind, detail, { headers: { connection: 'close' } });
  if (host === undefined && raw.httpVersion === '1.1') {
    return fault(edgeProblems.malformedRequest, 'An HTTP/1.1 request carries `Host`.');
  }
  if (isRepeated(raw, 'host')) return fault(edgeProblems.malformedRequest, '`Host` was given more than once.');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return fault(edgeProblems.transferCodingUnknown, 'Of transfer codings only `chunked` is read here.');
  }
  return null;
}
