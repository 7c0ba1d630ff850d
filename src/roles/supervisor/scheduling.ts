import { readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

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
