import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { projectRoot } from '../../scripts/setup/project';
import { currentCommit, describeMachine } from '../load/machine';
import type { Machine } from '../load/result';
import type { DurabilitySettings } from './durability';

/** What every recorded result begins with: where, when and how durable. */
export interface ResultHead {
  readonly benchmark: string;
  readonly startedAt: string;
  readonly commit: string | null;
  readonly machine: Machine;
  readonly durability: DurabilitySettings;
}

export async function resultHead(benchmark: string, durability: DurabilitySettings): Promise<ResultHead> {
  const startedAt = new Date().toISOString();
  return { benchmark, startedAt, commit: await currentCommit(), machine: describeMachine(), durability };
}

/** Where recorded results are kept. */
export function recordedFile(name: string): string {
  return join(projectRoot, 'bench', 'results', `${name}.json`);
}

/** Written after every run too, so that an interrupted benchmark leaves what it has measured. */
export function writeResult(file: string | null, result: unknown): void {
  if (file === null) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
}

export function describePlace(file: string | null): string {
  return file === null ? 'not recorded (a short run)' : `recorded in ${relative(process.cwd(), file)}`;
}
