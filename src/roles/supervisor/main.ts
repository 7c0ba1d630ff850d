import { join } from 'node:path';
import { SettingsError } from '../../../config/environment';
import { productVersion } from '../../../config/version';
import { LogSink } from './log-sink';
import { assertUsable, type Source } from './role-environment';
import { Supervisor } from './supervisor';
import { SupervisorLog, supervisorLine } from './supervisor-log';
import { readSupervisorSettings } from './supervisor-settings';

/** Every role is the same program. */
const MAIN = join(__dirname, '..', '..', 'main.js');
const STANDARD_OUTPUT = 1;
const FLUSH_MS_MAX = 2_000;
/** A terminal sends its signal to a whole group and npm passes it on: the two are one request. */
const SAME_REQUEST_MS = 1_000;

/** Read to be handed on in parts; what a setting means is for config/environment.ts to say. */
function environment(): Source {
  // eslint-disable-next-line no-restricted-properties -- the processes' environment passes through here as it is
  return { ...process.env };
}

function start(): void {
  const source = environment();
  const version = productVersion();
  const settings = readSupervisorSettings(source);
  assertUsable(source, version);
  const sink = new LogSink(STANDARD_OUTPUT, {
    droppedLine: (from, lines) =>
      supervisorLine(version, 'warn', 'lines were dropped, since nobody reads them fast enough', {
        process: from,
        lines,
      }),
  });
  const log = new SupervisorLog(sink, settings.logLevel, version);
  const tellParent = (message: object): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  const supervisor = new Supervisor({ main: MAIN, source, settings, sink, log, tellParent });
  stopWhenTold(supervisor, (code) => end(sink, code));
  process.on('SIGUSR2', () => supervisor.revive());
  void supervisor.allDown.then(() => {
    log.write('error', 'every process stays down; so does the supervisor');
    return end(sink, 1);
  });
  supervisor.start();
}

function stopWhenTold(supervisor: Supervisor, onStopped: (code: 0 | 1) => Promise<void>): void {
  let firstAtMs: number | null = null;
  const onSignal = (why: string): void => {
    firstAtMs ??= performance.now();
    if (performance.now() - firstAtMs > SAME_REQUEST_MS) supervisor.killAll();
    void supervisor.stop(why).then(onStopped);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => onSignal(signal));
  if (process.connected) process.on('disconnect', () => onSignal('the launcher has gone'));
}

async function end(sink: LogSink, code: 0 | 1): Promise<void> {
  if (await sink.flush(FLUSH_MS_MAX)) process.exit(code);
  // The thread that waits for the reader of the log would keep a plain exit waiting too.
  process.kill(process.pid, 'SIGKILL');
}

try {
  start();
} catch (error) {
  const said =
    error instanceof SettingsError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : 'unknown';
  process.stderr.write(`${said}\n`, () => process.exit(1));
}
