import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { CertifiedEstimator } from '../../src/lanes/tax/compensation/certified-estimator';
import { readCompensationFiles } from '../../src/lanes/tax/compensation/compensation-files';
import type { QuoteRequest } from '../../src/lanes/tax/tax';
import { verifyCompensation } from '../../src/lanes/tax/compensation/verify-compensation';
import { currentCommit, describeMachine } from '../../bench/load/machine';
import { SetupError } from '../setup/setup-error';
import { runCommand } from './command';
import { taxFolder } from './places';

const ROUNDS = 5;
const CHILD_MS_MAX = 60_000;
const WARMUP_ESTIMATES = 50_000;
const MEASURED_ESTIMATES = 500_000;
/** Copies of the table that are held at once: one alone is lost in the noise of a heap. */
const COPIES = 200;

interface Figures {
  readonly tableBytes: number;
  readonly oneLinePerSecond: number;
  readonly fiftyLinesPerSecond: number;
}

/**
 * `npm run compensation:measure`: what the table takes in memory, and how many estimates one thread makes a second. Each
 * round is a process of its own; printed are the median and the spread.
 */
async function measure(): Promise<void> {
  const rounds: Figures[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await inChild());
  const spread = (name: keyof Figures): string => {
    const values = rounds.map((figures) => figures[name]).sort((a, b) => a - b);
    const shown = [values[ROUNDS >> 1], values[0], values[ROUNDS - 1]].map((value) => Math.round(value ?? 0));
    return `${shown[0]} (${shown[1]}–${shown[2]})`;
  };
  const { cpus, model, node, kernel } = describeMachine();
  process.stdout.write(
    [
      `machine: ${cpus} × ${model}, kernel ${kernel}, Node ${node}; commit ${(await currentCommit()) ?? 'unknown'}`,
      `rounds: ${ROUNDS}, a process each; median (least–most)`,
      `bytes of the table in the process: ${spread('tableBytes')}`,
      `estimates a second, 1 line and shipping: ${spread('oneLinePerSecond')}`,
      `estimates a second, 50 lines and shipping: ${spread('fiftyLinesPerSecond')}`,
      '',
    ].join('\n'),
  );
}

function inChild(): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const child = fork(__filename, ['--child'], { execArgv: ['--expose-gc'], timeout: CHILD_MS_MAX });
    child.once('error', reject);
    child.once('message', (figures) => resolve(figures as Figures));
    child.once('exit', (code, signal) => reject(new Error(`a round ended with ${signal ?? code} and no figures`)));
  });
}

function figures(): Figures {
  const files = readCompensationFiles(taxFolder);
  const first = verifyCompensation(files);
  if (!first.accepted) throw new SetupError(first.rejection);
  const tableBytes = bytesOfTable(() => verifyCompensation(files));
  const estimator = new CertifiedEstimator(first, () => 0);
  return { tableBytes, oneLinePerSecond: speedOf(estimator, 1), fiftyLinesPerSecond: speedOf(estimator, 50) };
}

function bytesOfTable(make: () => unknown): number {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) throw new Error('start it with --expose-gc');
  const held: unknown[] = [make()];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let copy = 0; copy < COPIES; copy += 1) held.push(make());
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / COPIES;
  // Read after the measurement, so that nothing of it could be collected before.
  if (held.length !== COPIES + 1) throw new Error('copies are missing');
  return bytes;
}

function speedOf(estimator: CertifiedEstimator, lineCount: number): number {
  const requests = ['CA', 'TX', 'NY', 'FL'].map((region): QuoteRequest => ({
    currency: 'USD',
    shipTo: { country: 'US', region, postalCode: null },
    lines: Array.from({ length: lineCount }, (_, index) => ({
      id: `${index}`,
      amountMinor: 1_999 + index,
      taxCode: null,
    })),
    shippingMinor: 599,
  }));
  const run = (count: number): number => {
    let sum = 0;
    for (let turn = 0; turn < count; turn += 1) {
      const request = requests[turn % requests.length];
      sum += request === undefined ? 0 : (estimator.estimate(request)?.taxMinor ?? Number.NaN);
    }
    return sum;
  };
  const count = Math.ceil(MEASURED_ESTIMATES / lineCount);
  run(Math.ceil(WARMUP_ESTIMATES / lineCount));
  const started = performance.now();
  if (Number.isNaN(run(count))) throw new Error('an estimate is missing');
  return count / ((performance.now() - started) / 1_000);
}

if (process.argv.includes('--child')) process.send?.(figures(), () => process.disconnect());
else runCommand(measure);
