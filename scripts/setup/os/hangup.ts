import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { isatty } from 'node:tty';

const SIGHUP_BIT = 1n;
const O_ACCMODE = 0o3;
const O_WRONLY = 0o1;
/** npm, its shell, and a script around them: whoever began further up began something else. */
const ANCESTORS_MAX = 8;

/** What tells of a hangup that was to be ignored when this process was started. */
export interface HangupTraces {
  /** Whether one of standard input, output and error is a terminal. */
  onTerminal: boolean;
  /** Whether standard input is what `nohup` puts in a terminal's place: /dev/null, opened for writing only. */
  inputClosedByNohup: boolean;
  /** Whether what it prints goes where `nohup` sends it by itself. */
  outputNamedByNohup: boolean;
  /** `_` of this process and of those above it: the shells note there what they were told to execute. */
  commands: readonly (string | null)[];
  /** The `SigIgn` masks of this process and of those above it in its session. */
  ignoredMasks: readonly string[];
}

/**
 * Whether this was started to survive a hangup, with `nohup` or below a shell that ignores it. The disposition itself does
 * not tell: Node resets it at its start, npm's as well as this one's, so the traces that it leaves are looked at.
 */
export function isHangupIgnored(traces: HangupTraces): boolean {
  // `nohup` leaves no terminal: where there is one, something else was started by it.
  if (traces.onTerminal) return false;
  return (
    traces.inputClosedByNohup ||
    traces.outputNamedByNohup ||
    traces.commands.some((command) => command !== null && basename(command) === 'nohup') ||
    traces.ignoredMasks.some((mask) => (BigInt(`0x${mask}`) & SIGHUP_BIT) !== 0n)
  );
}

/** False where the system has no /proc. */
export function hangupIgnored(): boolean {
  const processes = ancestry();
  return isHangupIgnored({
    onTerminal: [0, 1, 2].some((descriptor) => isatty(descriptor)),
    inputClosedByNohup: targetOf(0) === '/dev/null' && isWriteOnly(0),
    outputNamedByNohup: [1, 2].some((descriptor) => basename(targetOf(descriptor)) === 'nohup.out'),
    commands: processes.map(commandNoted),
    ignoredMasks: processes.flatMap((pid) => /^SigIgn:\s*([\da-f]+)$/m.exec(read(pid, 'status') ?? '')?.[1] ?? []),
  });
}

/** This process and those above it, as far as they belong to the same session. */
function ancestry(): number[] {
  const found: number[] = [];
  let session: string | undefined;
  for (let pid = process.pid; pid > 1 && found.length < ANCESTORS_MAX;) {
    const text = read(pid, 'stat');
    if (text === null) break;
    // The command in brackets may hold spaces and brackets: fields are counted from its end.
    const [, parent, , own] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    session ??= own;
    if (own !== session) break;
    found.push(pid);
    pid = Number(parent);
  }
  return found;
}

function commandNoted(pid: number): string | null {
  return (
    read(pid, 'environ')
      ?.split('\0')
      .find((entry) => entry.startsWith('_='))
      ?.slice(2) ?? null
  );
}

function targetOf(descriptor: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

function isWriteOnly(descriptor: number): boolean {
  const flags = /^flags:\s*(\d+)$/m.exec(read(process.pid, `fdinfo/${descriptor}`) ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & O_ACCMODE) === O_WRONLY;
}

function read(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return null;
  }
}
