// What a set-up has to know about processes, on the Node that the machine has: its own steps', and other set-ups'.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { sep } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** npm and the compiler end on SIGTERM at once; an installation script of a package may not. */
const TERM_WAIT_MS = 4_000;
const KILL_WAIT_MS = 5_000;

function statusOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in brackets may hold spaces and brackets: fields are counted from its end.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : { group: Number(fields[2]), startedAt: fields[19] };
  } catch {
    return null;
  }
}

function answers(target) {
  try {
    process.kill(target, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Start time of a process in clock ticks since boot; null where it does not run. Tells it from a later namesake. */
export function startOf(pid) {
  if (process.platform === 'linux') return statusOf(pid)?.startedAt ?? null;
  return answers(pid) ? '' : null;
}

/** The living processes of a group. A zombie that nobody collects keeps a group's number, and does nothing. */
export function membersOf(group) {
  if (process.platform !== 'linux') return answers(-group) ? [group] : [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && statusOf(name)?.group === group)
    .map(Number);
}

/** Whether a process works in this folder or below it. */
export function worksIn(pid, folder) {
  try {
    const current = readlinkSync(`/proc/${pid}/cwd`);
    return current === folder || current.startsWith(`${folder}${sep}`);
  } catch {
    return process.platform !== 'linux';
  }
}

/** SIGTERM, then SIGKILL, to all of a group. @returns whether all of it has ended. */
export async function endGroup(group) {
  for (const [signal, waitMs] of [
    ['SIGTERM', TERM_WAIT_MS],
    ['SIGKILL', KILL_WAIT_MS],
  ]) {
    const deadline = performance.now() + waitMs;
    if (membersOf(group).length > 0) signalGroup(group, signal);
    while (membersOf(group).length > 0 && performance.now() < deadline) await sleep(50);
  }
  return membersOf(group).length === 0;
}

function signalGroup(group, signal) {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
