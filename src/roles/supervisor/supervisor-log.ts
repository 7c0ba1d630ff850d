import type { LogSink } from './log-sink';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The supervisor's own lines, in the form of the processes' lines. It loads no framework, to be small and soon up. */
export class SupervisorLog {
  readonly #sink: LogSink;
  readonly #level: number;
  readonly #version: string;

  constructor(sink: LogSink, level: string, version: string) {
    this.#sink = sink;
    this.#level = LEVELS.indexOf(level);
    this.#version = version;
  }

  write(level: 'info' | 'warn' | 'error', message: string, fields: object = {}): void {
    if (LEVELS.indexOf(level) < this.#level) return;
    this.#sink.write('supervisor', supervisorLine(this.#version, level, message, fields));
  }
}

export function supervisorLine(version: string, level: string, message: string, fields: object): string {
  const time = new Date().toISOString();
  return JSON.stringify({ level, time, role: 'supervisor', version, pid: process.pid, ...fields, message });
}
