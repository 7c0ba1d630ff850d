import { LoggerModule } from 'nestjs-pino';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino';
import type { DynamicModule } from '@nestjs/common';
import { LogSink } from './log-sink';
import { maskSecrets, maskText } from './mask-secrets';

export interface LoggingSettings {
  readonly level: string;
  readonly role: string;
  readonly version: string;
}

/** One JSON line per event, with the process's role; whoever speaks for a lane adds `lane`. */
export function loggerOptions({ level, role, version }: LoggingSettings): LoggerOptions {
  return {
    level,
    base: { role, version, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    messageKey: 'message',
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => maskSecrets(fields) as Record<string, unknown>,
    },
    // Errors were described by `maskSecrets` already; pino's own serializer would copy every member of them.
    serializers: { err: (error: unknown) => maskSecrets(error) },
    hooks: { streamWrite: maskText },
  };
}

/**
 * The process's logger. Lines are written synchronously to standard output: the ones before a crash are those that
 * are needed, and there are few of them, since successes are logged at `debug` only.
 */
export function createLogger(settings: LoggingSettings, destination: DestinationStream = standardOutput()): Logger {
  return pino(loggerOptions(settings), destination);
}

function standardOutput(): LogSink {
  const sink = new LogSink();
  process.once('exit', () => sink.flush());
  return sink;
}

/**
 * Nest's own lines through the same logger: `app.useLogger(app.get(Logger))` of nestjs-pino. Its middleware, which
 * makes a child logger for every request, is on no route: the edge's access log says the same for less.
 */
export function loggingModule(logger: Logger): DynamicModule {
  return LoggerModule.forRoot({ pinoHttp: { logger, autoLogging: false }, forRoutes: [], assignResponse: false });
}
