import { cell, percentCell, renderTable } from '../support/table';
import type { Way } from './compare';
import type { LedgerRun, Window } from './measured-run';
import type { ServerFigures } from './server-figures';

/** All times in milliseconds. */
const TIMES_HEAD = [
  'write p50',
  'p99',
  'p99.9',
  '<= 38',
  'flush p50',
  'p99',
  'p99.9',
  '<= 18',
  'answer p50',
  'p99',
  'p99.9',
  'most',
];
const HEAD = [
  'run',
  'items/s',
  ...TIMES_HEAD,
  'rows',
  'trips saved',
  'CPU µs/item',
  'PG CPU',
  'RSS MiB',
  'WAL B',
  'ckpt',
  'lag p99',
  'committed',
  'failed',
  'audit',
  '',
];

export function renderRuns(runs: readonly LedgerRun[]): string {
  return renderTable([HEAD, ...runs.map(cellsOf)]);
}

function cellsOf(run: LedgerRun): string[] {
  return [
    run.what,
    String(run.itemsPerSecond),
    ...timeCells(run),
    cell(run.rowsOfFlushMean, 0),
    percentCell(run.roundTripsSavedShare, 2),
    cell(run.serverCpuMicrosecondsPerItem),
    percentCell(run.postgresUsage?.cpuShare ?? null, 0),
    cell(run.serverUsage?.rssMiBMax, 0),
    String(run.walBytesPerItem),
    String(run.checkpoints),
    cell(run.generatorLagMs?.p99),
    String(run.items.committed),
    String(run.items.failed),
    run.audit.passed ? 'ok' : 'FAILED',
    run.void ? `VOID: ${run.voidReason ?? ''}` : run.held ? 'held' : 'not held',
  ];
}

function timeCells({ write, flush, answerMs }: Window): string[] {
  const answer = [answerMs?.p50, answerMs?.p99, answerMs?.p999, answerMs?.max].map((ms) => cell(ms));
  return [...serverCells(write), ...serverCells(flush), ...answer];
}

function serverCells(figures: ServerFigures | null): string[] {
  const { p50Ms, p99Ms, p999Ms, withinTargetShare } = figures ?? {};
  return [...[p50Ms, p99Ms, p999Ms].map((ms) => cell(ms)), percentCell(withinTargetShare ?? null, 2)];
}

/** A long run in stretches; contract 14 compares the last with the first. */
export function renderWindows({ windows, windowS }: LedgerRun): string {
  const rows = windows.map((window, index) => [
    `${(index * windowS) / 60}–${((index + 1) * windowS) / 60} min`,
    ...timeCells(window),
  ]);
  const [first, last] = [windows[0]?.write?.p99Ms, windows.at(-1)?.write?.p99Ms];
  const ratio = first !== undefined && last !== undefined ? (last / first).toFixed(2) : '-';
  return [
    renderTable([['stretch', ...TIMES_HEAD], ...rows]),
    `write p99 of the last stretch ÷ the first: ${ratio} (at most 1.25)`,
  ].join('\n');
}

export function renderWays(ways: readonly Way[]): string {
  const copy = ways.find(({ name }) => name.startsWith('COPY'))?.rowsPerSecond;
  const single = ways.find(({ name }) => name.startsWith('one INSERT'))?.rowsPerSecond;
  return renderTable([
    ['way', 'rows/s', '÷ COPY', '÷ one by one'],
    ...ways.map(({ name, rowsPerSecond }) => [
      name,
      cell(rowsPerSecond, 0),
      cell(copy === undefined ? null : rowsPerSecond / copy, 2),
      cell(single === undefined ? null : rowsPerSecond / single),
    ]),
  ]);
}
