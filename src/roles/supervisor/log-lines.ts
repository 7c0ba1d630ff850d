import { StringDecoder } from 'node:string_decoder';
import { maskText } from '../../platform/mask-secrets';

/** Longer lines are cut: a process that writes without end must not fill the supervisor's memory. */
export const LINE_CHARACTERS_MAX = 64 * 1024;
const CUT_MARK = ' … (cut)';

/** Turns what comes through a pipe, in pieces of any size, into whole lines. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #pending = '';
  /** The rest of a line that was too long already is left out. */
  #cutting = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(chunk: Buffer): void {
    const parts = this.#decoder.write(chunk).split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      this.#append(part);
      this.#endLine();
    }
    this.#append(last);
  }

  /** What has no end of line is a line too. */
  end(): void {
    this.#append(this.#decoder.end());
    this.#endLine();
  }

  #append(text: string): void {
    if (this.#cutting) return;
    this.#pending += text;
    if (this.#pending.length <= LINE_CHARACTERS_MAX) return;
    this.#pending = this.#pending.slice(0, LINE_CHARACTERS_MAX) + CUT_MARK;
    this.#cutting = true;
  }

  #endLine(): void {
    const line = this.#pending.replace(/\r$/, '');
    this.#pending = '';
    this.#cutting = false;
    if (line.trim() !== '') this.#onLine(line);
  }
}

/** A process's line as it goes into the one stream: JSON with its role; what is not so already is wrapped. */
export function logLine(role: string, stream: 'stdout' | 'stderr', line: string, now: Date): string {
  if (isLogRecord(line)) return line;
  const level = stream === 'stderr' ? 'error' : 'info';
  return JSON.stringify({ level, time: now.toISOString(), role, stream, message: maskText(line) });
}

function isLogRecord(line: string): boolean {
  if (!line.startsWith('{') || !line.includes('"role":')) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
