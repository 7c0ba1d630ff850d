import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Logger } from 'nestjs-pino';
import { type Settings, SettingsError } from '../../config/environment';
import { edgeFastifyOptions } from '../ingress/edge-options';
import { type Edge, installEdge } from '../ingress/install-edge';
import { ApiReference, createApiDocument } from '../operator/docs/api-reference';
import { RequestLog } from '../platform/request-log';
import { createProcessContext, type ProcessContext } from './process-context';
import { stopProcess } from './process-stop';
import { rootModule, servesPages } from './root.module';

/** After this a connection that is not up has had its time to come. */
const TELL_AFTER_MS = 2_000;

/** Starts the process of the settings' role and serves until it is told to stop; resolves when it serves. */
export async function runProcess(settings: Settings): Promise<void> {
  // Whoever started it may go before it serves: nothing has been accepted then, and it simply ends.
  const abandoned = (): never => process.exit(1);
  if (process.connected) process.once('disconnect', abandoned);
  const context = createProcessContext(settings);
  await readKeys(context);
  const { app, edge } = await buildApplication(context);
  await listen(app, context);
  stopWhenTold(() => stopProcess(app, edge, context), context);
  process.off('disconnect', abandoned);
  const url = await app.getUrl();
  context.log.info({ url }, 'ready');
  process.send?.({ type: 'ready', url });
  setTimeout(() => void tellOfDegradation(context), TELL_AFTER_MS).unref();
}

/** A file that cannot be used is a wrong setting; a dead URL may come back, and the process starts without it. */
async function readKeys({ tokens, settings }: ProcessContext): Promise<void> {
  await tokens.start();
  const { jwksFile } = settings.jwt;
  if (jwksFile === null || tokens.ready) return;
  const expected = 'a readable file with a JSON Web Key Set: {"keys": [ … ]} of ES256 or EdDSA public keys';
  throw new SettingsError([{ name: 'JWKS_FILE', value: jwksFile, expected }]);
}

/** A lane serves without its Redis; whoever has just started it should know all the same. */
async function tellOfDegradation({ registry, log }: ProcessContext): Promise<void> {
  for (const view of registry.all()) {
    for (const { name, status, detail } of await view.dependencies()) {
      if (status !== 'up')
        log.warn({ lane: view.lane, dependency: name, status, detail }, `${name} of this lane is ${status}`);
    }
  }
}

async function buildApplication(context: ProcessContext): Promise<{ app: NestFastifyApplication; edge: Edge }> {
  const { clock, draining, settings, tokens, log, alerts, metrics } = context;
  const requestLog = new RequestLog(log);
  const answers = { clock, draining, onAnswered: requestLog.record };
  const app = await NestFactory.create<NestFastifyApplication>(
    rootModule(context),
    new FastifyAdapter(edgeFastifyOptions(answers)),
    // What fails before the logger is in place is thrown, and told once by main.ts.
    { bodyParser: false, logger: false, abortOnError: false },
  );
  app.useLogger(quietly(app.get(Logger)));
  const edge = installEdge(app, {
    ...answers,
    tokens,
    retryGuard: settings.retryGuard,
    bodyGates: context.bodyGates,
    onUnexpected: ({ route, requestId, ...error }) => {
      alerts.raise('ALERT_UNEXPECTED_ERROR', 'A request was answered 500, for a reason that nobody foresaw', {
        key: route ?? '',
        route,
        request_id: requestId,
        ...error,
      });
    },
    onDrainingRefusal: (lane) => {
      for (const { name } of context.registry.find(lane)?.bulkheads() ?? [])
        metrics.bulkhead(name).rejected('draining');
    },
  });
  if (servesPages(context)) app.get(ApiReference).describe(() => createApiDocument(app, settings.version));
  await app.init();
  return { app, edge };
}

async function listen(app: NestFastifyApplication, { settings }: ProcessContext): Promise<void> {
  try {
    await app.listen(settings.port, settings.host);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new Error(
        `${settings.host}:${settings.port} is taken by another process: stop that one, or set PORT_${settings.role.toUpperCase()}`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** Stops once, whoever says so: an orchestrator, a terminal, or a launcher that has gone. */
function stopWhenTold(end: () => Promise<0 | 1>, context: ProcessContext): void {
  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    context.log.info({ why }, 'stopping');
    end().then(
      (code) => process.exit(code),
      (error: unknown) => {
        context.log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  if (process.connected) process.on('disconnect', () => stop('the launcher has gone'));
}

/** Nest tells of each module and route as it starts: worth a line to whoever looks for a fault, and to nobody else. */
function quietly(logger: Logger): LoggerService {
  return {
    log: (message: unknown, ...more: unknown[]) => logger.debug(message, ...more),
    debug: (message: unknown, ...more: unknown[]) => logger.debug(message, ...more),
    verbose: (message: unknown, ...more: unknown[]) => logger.verbose(message, ...more),
    warn: (message: unknown, ...more: unknown[]) => logger.warn(message, ...more),
    error: (message: unknown, ...more: unknown[]) => logger.error(message, ...more),
    fatal: (message: unknown, ...more: unknown[]) => logger.fatal(message, ...more),
  };
}
