import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlanFile } from '../../load/plan-file';
import type { LoadResult } from '../../load/result';
import type { Closing } from '../../support/closing';

const DRILL_LOAD = join(__dirname, 'drill-load.js');

export interface DrillLoadResult extends LoadResult {
  /** The names of the codes of the answers; the first stands for none. */
  readonly codes: readonly string[];
}

export interface LoadFiles {
  readonly result: DrillLoadResult;
  /** For {@link readAnswerLog}. */
  readonly logFile: string;
  /** One line per answer of the first target, warm-up included. */
  readonly auditFile: string;
}

/** A load that runs in a process of its own. */
export interface RunningLoad {
  /** When the measured time began, on the wall clock. */
  readonly startedAtMs: number;
  /** Resolves when all is answered. */
  finish(): Promise<LoadFiles>;
}

/** Starts a load and resolves when its warm-up is over. */
export async function startLoad(
  plan: PlanFile,
  keyPrefix: string,
  folder: string,
  closing: Closing,
): Promise<RunningLoad> {
  const file = (name: string): string => join(folder, `drill-${keyPrefix}-${name}`);
  const [planFile, resultFile, logFile, auditFile] = [
    file('plan.json'),
    file('result.json'),
    file('answers.bin'),
    file('audit.ndjson'),
  ];
  // It holds tokens.
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  const child = spawn(process.execPath, [DRILL_LOAD, planFile, keyPrefix, resultFile, logFile, auditFile], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  const ended = once(child, 'exit');
  const interrupt = (): void => void child.kill('SIGINT');
  closing.signal.addEventListener('abort', interrupt, { once: true });
  closing.add('the load', async () => void child.kill('SIGKILL'));
  const startedAtMs = await Promise.race([measuringSince(child), ended.then(() => null)]);
  rmSync(planFile, { force: true });
  if (startedAtMs === null) throw new Error('The load ended before it began');
  return {
    startedAtMs,
    finish: async () => {
      const [code] = (await ended) as [number | null];
      closing.signal.removeEventListener('abort', interrupt);
      closing.check();
      if (code !== 0) throw new Error(`The load failed (exit code ${code})`);
      const result = JSON.parse(readFileSync(resultFile, 'utf8')) as DrillLoadResult;
      rmSync(resultFile, { force: true });
      return { result, logFile, auditFile };
    },
  };
}

function measuringSince(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      const { type, atMs } = message as { type?: string; atMs?: number };
      if (type === 'measuring' && atMs !== undefined) resolve(atMs);
    });
  });
}
