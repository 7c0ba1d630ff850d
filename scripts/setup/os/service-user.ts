import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';

/** Whom the embedded services run as. */
export interface ServiceUser {
  uid: number;
  gid: number;
}

/** `nobody`: PostgreSQL refuses to run as root, and neither service needs more than its own folder. */
const NOBODY: ServiceUser = { uid: 65_534, gid: 65_534 };

/** Null where this process is not root: the services then run as its own user. */
export function serviceUser(): ServiceUser | null {
  return process.getuid?.() === 0 ? NOBODY : null;
}

/** Asks the kernel instead of computing from modes: access lists and mounts count too. */
export function canReach(user: ServiceUser | null, folder: string): boolean {
  if (user === null) return true;
  const result = spawnSync('/bin/sh', ['-c', 'cd "$1" 2>/dev/null', 'sh', folder], { ...user, cwd: '/' });
  return result.status === 0;
}

export function giveTo(user: ServiceUser | null, path: string): void {
  if (user !== null) chownSync(path, user.uid, user.gid);
}

/** A folder that others may pass through, whatever the umask; one that is there already keeps its mode. */
export function makeOpenFolder(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
}
