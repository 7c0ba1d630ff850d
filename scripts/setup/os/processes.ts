import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Start time in clock ticks since boot; empty where the system has no /proc. */
  startedAt: string;
}

interface ProcessStatus {
  state: string;
  parentPid: number;
  startedAt: string;
}

function statusOf(pid: number): ProcessStatus | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in brackets may hold spaces and brackets: fields are counted from its end.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parentPid: Number(fields[1]), startedAt: fields[19] ?? '' };
  } catch {
    return null;
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The process with this number, or null if none runs. A zombie does not run. */
export function identityOf(pid: number): ProcessIdentity | null {
  if (!Number.isInteger(pid) || pid <= 0 || !answersSignals(pid)) return null;
  const status = statusOf(pid);
  if (status === null) return process.platform === 'linux' ? null : { pid, startedAt: '' };
  return status.state === 'Z' ? null : { pid, startedAt: status.startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identityOf(identity.pid)?.startedAt === identity.startedAt;
}

/** @returns false where the process is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** @returns whether it ended within the limit. */
export async function waitForExit(identity: ProcessIdentity, limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (isAlive(identity)) {
    if (performance.now() >= deadline) return false;
    await sleep(20);
  }
  return true;
}

export function childrenOf(parentPid: number): ProcessIdentity[] {
  const children: ProcessIdentity[] = [];
  for (const pid of processNumbers()) {
    const status = statusOf(pid);
    if (status?.parentPid === parentPid && status.state !== 'Z') children.push({ pid, startedAt: status.startedAt });
  }
  return children;
}

export function processNumbers(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** The command line, for people; null where it cannot be read. */
export function commandOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/\0+$/, '').replaceAll('\0', ' ') || null;
  } catch {
    return null;
  }
}

export function workingFolderOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
