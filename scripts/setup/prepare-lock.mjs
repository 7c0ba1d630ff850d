// `npm start` and `npm test` may both find that there is something to set up: one does it, the other waits.
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOf } from './prepare-processes.mjs';

const LOCK_WAIT_MS_MAX = 15 * 60_000;

/** Something a person has to act on: printed without a stack. */
export class Failure extends Error {}

export function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/**
 * Runs `work` while no other set-up works in this project; the lock lies in `folder`. A lock whose holder is gone is
 * broken.
 *
 * @param signal ends the waiting; the work itself has to heed it.
 */
export async function exclusively(folder, work, say, signal) {
  if (!existsSync(folder)) {
    mkdirSync(folder, { recursive: true });
    // The services' user passes through it, whatever the umask.
    chmodSync(folder, 0o755);
  }
  const lock = join(folder, 'prepare.lock');
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid) ?? ''}`);
  const deadline = Date.now() + LOCK_WAIT_MS_MAX;
  let told = false;
  try {
    while (!take(mine, lock)) {
      const holder = read(lock)?.split(' ') ?? null;
      if (holder !== null && startOf(Number(holder[0])) !== holder[1]) {
        breakLock(lock, mine, holder.join(' '));
        continue;
      }
      if (!told && holder !== null) say(`waiting for the set-up that process ${holder[0]} runs in this folder`);
      told = true;
      if (Date.now() > deadline) throw new Failure(`process ${holder?.[0]} has held ${lock} for too long`);
      await sleep(200);
      signal.throwIfAborted();
    }
    try {
      await work();
    } finally {
      unlinkSync(lock);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A link appears with its content or not at all. */
function take(mine, lock) {
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves the dead holder's lock aside; if it was a living one's by then, two waiters having met here, puts it back. */
function breakLock(lock, mine, expected) {
  const aside = `${mine}.stale`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== expected) take(aside, lock);
  else rmSync(`${lock}.${expected.split(' ')[0]}`, { force: true });
  rmSync(aside, { force: true });
}
