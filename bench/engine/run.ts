import { execFile, fork } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { currentCommit, describeMachine } from '../load/machine';
import { OURS } from './candidate';
import { CANDIDATES } from './candidates/all';
import { type Task } from './child';
import { type Memory, type Speed } from './measure';
import { renderTable, type EngineResult } from './report';
import { runRounds, type Measurer, type Plan } from './rounds';

const RESULTS = 'bench/results';
/** A measurement takes seconds; on a busy machine, tens of them. */
const CHILD_MS_MAX = 120_000;

const FULL: Plan = {
  rounds: 5,
  speed: { warmupMs: 300, measureMs: 600, chunk: 10_000 },
  memory: { warmupMs: 200, measureMs: 0, chunk: 20_000 },
};
/** Shows that everything still runs; its figures are worth nothing. */
const SHORT: Plan = {
  rounds: 1,
  speed: { warmupMs: 20, measureMs: 30, chunk: 2_000 },
  memory: { warmupMs: 20, measureMs: 0, chunk: 2_000 },
};

/** Larger than what the weighed calls allocate, so that nothing is collected between two readings. */
const YOUNG_GENERATION = ['--min-semi-space-size=256', '--max-semi-space-size=256'];

function inChild<T>(task: Task): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const child = fork(join(__dirname, 'child.js'), {
      execArgv: ['--expose-gc', ...(task.measure === 'memory' ? YOUNG_GENERATION : [])],
      timeout: CHILD_MS_MAX,
    });
    child.once('error', reject);
    child.once('message', ({ result, error }: { result?: T; error?: string }) => {
      if (result === undefined) reject(new Error(error ?? 'a child without a result'));
      else resolve(result);
    });
    child.once('exit', (code, signal) => reject(new Error(`a child ended with ${signal ?? code} and no result`)));
    child.send(task);
  });
}

const measurer: Measurer = {
  speed: (candidate, effort) => inChild<Speed>({ candidate, measure: 'speed', effort }),
  memory: (candidate, effort) => inChild<Memory>({ candidate, measure: 'memory', effort }),
};

async function uncommittedChanges(): Promise<boolean | null> {
  try {
    const args = ['status', '--porcelain', '--', 'src/bulkhead', 'bench/engine'];
    return (await promisify(execFile)('git', args, { timeout: 2_000 })).stdout !== '';
  } catch {
    return null;
  }
}

function versions(): Record<string, string> {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const peers = [...new Set(CANDIDATES.map(({ peer }) => peer))].filter((peer) => peer !== OURS);
  return Object.fromEntries(peers.map((peer) => [peer, devDependencies[peer] ?? 'unknown']));
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { short: { type: 'boolean', default: false }, rounds: { type: 'string' } } });
  const base = values.short ? SHORT : FULL;
  const plan = values.rounds === undefined ? base : { ...base, rounds: Number(values.rounds) };
  if (!Number.isSafeInteger(plan.rounds) || plan.rounds < 1) throw new RangeError('--rounds: a whole number from 1');
  const startedAt = new Date().toISOString();
  const before = loadavg()[0] as number;
  const candidates = await runRounds(CANDIDATES, plan, measurer, (round) =>
    console.error(`round ${round + 1} of ${plan.rounds} …`),
  );
  const result: EngineResult = {
    benchmark: 'engine',
    command: ['npm run bench:engine', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' '),
    startedAt,
    finishedAt: new Date().toISOString(),
    machine: describeMachine(),
    loadAverage: { before, after: loadavg()[0] as number },
    commit: await currentCommit(),
    uncommittedChanges: await uncommittedChanges(),
    versions: versions(),
    plan,
    candidates,
  };
  console.log(renderTable(result));
  if (values.short) return;
  mkdirSync(RESULTS, { recursive: true });
  const file = join(RESULTS, `engine-${startedAt.slice(0, 10)}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  console.log(`\n${file}`);
}

void main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
