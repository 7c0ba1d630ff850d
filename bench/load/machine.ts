import { execFile } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { type Machine } from './result';

const GIT_MS_MAX = 2_000;

export function describeMachine(): Machine {
  const all = cpus();
  return {
    cpus: all.length,
    model: all[0]?.model ?? 'unknown',
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    node: process.version,
    kernel: release(),
  };
}

/** The commit that is checked out in the working directory; null outside a repository. */
export async function currentCommit(): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { timeout: GIT_MS_MAX });
    return stdout.trim();
  } catch {
    return null;
  }
}
