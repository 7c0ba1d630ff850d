import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Of util-linux, which is on every Debian: Node has no call for scheduling policies. */
const CHRT = 'chrt';
const CHRT_MS_MAX = 1_000;

/**
 * Gives a process its niceness, or, where the system does not grant so much priority, the most that it grants.
 * On Linux niceness belongs to a thread, and a new thread has that of its maker: all that are there get it.
 *
 * @returns the niceness of the process now; null where it is gone.
 */
export function applyNiceness(pid: number, wanted: number): number | null {
  for (const thread of threadsOf(pid)) applyToThread(thread, wanted);
  try {
    return getPriority(pid);
  } catch {
    return null;
  }
}

/** `idle`: behind every other process of the machine, at once and whatever its niceness. Niceness is kept meanwhile. */
export type SchedulingPolicy = 'normal' | 'idle';

/** @throws where the process is gone or the system does not allow it. */
export async function applyPolicy(pid: number, policy: SchedulingPolicy): Promise<void> {
  await run(CHRT, ['--all-tasks', policyOption(policy), '--pid', '0', String(pid)], { timeout: CHRT_MS_MAX });
}

/** Everybody may stand back; whether a process of this user may be brought forward again, the system decides. */
export async function canComeForward(): Promise<boolean> {
  try {
    const comeForward = `${CHRT} ${policyOption('normal')} --pid 0 $$`;
    await run(CHRT, [policyOption('idle'), '0', 'sh', '-c', comeForward], { timeout: CHRT_MS_MAX });
    return true;
  } catch {
    return false;
  }
}

/** CPU time of all threads of a process so far; null where it is gone, or the system does not tell. */
export function cpuMsOf(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): utime and stime are fields 14 and 15, in hundredths of a second; the name before them may hold spaces.
    const [userTicks, systemTicks] = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number);
    return ((userTicks ?? 0) + (systemTicks ?? 0)) * 10;
  } catch {
    return null;
  }
}

function policyOption(policy: SchedulingPolicy): string {
  return policy === 'idle' ? '--idle' : '--other';
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}

/** Downwards from what is wanted: limits on priority (RLIMIT_NICE) may grant a part of it. */
function applyToThread(thread: number, wanted: number): void {
  for (let niceness = wanted; niceness < constants.priority.PRIORITY_LOW; niceness += 1) {
    try {
      setPriority(thread, niceness);
      return;
    } catch (error) {
      const refused = ['EACCES', 'EPERM'].includes((error as { info?: { code?: string } }).info?.code ?? '');
      if (!refused || niceness >= constants.priority.PRIORITY_NORMAL) return;
    }
  }
}
