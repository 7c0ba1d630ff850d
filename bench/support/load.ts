import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../scripts/setup/project';
import type { LoadResult, TargetResult } from '../load/result';

const GENERATOR = join(projectRoot, 'dist', 'bench', 'load', 'cli.js');
/** The exit code of a void run, whose result is recorded all the same. */
const VOID = 2;

export const CARDS_TARGET = 'authorizations';

export interface CardLoad {
  /** Of the process that serves the cards. */
  readonly url: string;
  readonly token: string;
  readonly rate: number;
  readonly warmupS: number;
  readonly durationS: number;
  /** Beyond it the run is void. */
  readonly lagP99MsMax: number;
}

export interface CardLoadOutcome {
  readonly result: LoadResult;
  readonly cards: TargetResult;
  /** The measured time on the wall clock. */
  readonly fromMs: number;
  readonly toMs: number;
  /** One JSON line per answer, warm-up included; the caller removes it. */
  readonly answersFile: string;
}

/** Card authorizations over all 1,000 demo cards, from the generator in a process of its own. */
export async function loadCards(load: CardLoad, folder: string, signal: AbortSignal): Promise<CardLoadOutcome> {
  signal.throwIfAborted();
  const file = (name: string): string => join(folder, `load-${name}`);
  const [planFile, resultFile, answersFile] = [file('plan.json'), file('result.json'), file('answers.ndjson')];
  const target = { name: CARDS_TARGET, url: `${load.url}/v1/authorizations`, token: load.token, rate: load.rate };
  const plan = {
    warmupS: load.warmupS,
    lagP99MsMax: load.lagP99MsMax,
    targets: [{ ...target, durationS: load.durationS }],
  };
  for (const old of [resultFile, answersFile]) rmSync(old, { force: true });
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  await generate(['--plan', planFile, '--out', resultFile, '--answers', answersFile], signal);
  const result = JSON.parse(readFileSync(resultFile, 'utf8')) as LoadResult;
  const cards = result.targets.find(({ name }) => name === CARDS_TARGET);
  if (cards === undefined) throw new Error('The generator says nothing of the cards');
  const fromMs = Date.parse(result.startedAt);
  return { result, cards, fromMs, toMs: fromMs + load.durationS * 1_000, answersFile };
}

/** The generator in a process of its own, or another script of its kind. Void runs end like others; their result says so. */
export function generate(args: readonly string[], signal: AbortSignal, script = GENERATOR): Promise<void> {
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Of its own group: the benchmark passes an interruption on, once.
    detached: true,
  });
  const interrupt = (): void => void child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4_000)));
  return new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', interrupt);
      if (signal.aborted) reject(new Error('the load was interrupted'));
      else if (code === 0 || code === VOID) resolve();
      else reject(new Error(`The generator failed (exit code ${code}): ${said}`));
    });
  });
}
