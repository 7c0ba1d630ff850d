import type { LatencyFigures } from '../load/latency-histogram';
import { cell, percentCell, renderTable } from '../support/table';
import type { Way } from './compare';
import type { FlushFigures } from './flush-figures';
import type { LedgerRun } from './measured-run';

const HEAD = [
  'run',
  'items/s',
  'write p50',
  'p99',
  'p99.9',
  'max',
  'flush p50',
  'p99',
  'p99.9',
  '<= 18 ms',
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
    ...writeCells(run.writeMs),
    ...flushCells(run.flush),
    cell(run.flush?.rowsMean, 0),
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

function writeCells(figures: LatencyFigures | null): string[] {
  return [figures?.p50, figures?.p99, figures?.p999, figures?.max].map((ms) => cell(ms));
}

function flushCells(figures: FlushFigures | null): string[] {
  const { p50Ms, p99Ms, p999Ms, withinTargetShare } = figures ?? {};
  return [...[p50Ms, p99Ms, p999Ms].map((ms) => cell(ms)), percentCell(withinTargetShare ?? null, 2)];
}

/** A long run in stretches; contract 14 compares the last with the first. */
export function renderWindows(run: LedgerRun): string {
  const [first, last] = [run.writeMsByWindow[0], run.writeMsByWindow.at(-1)];
  const rows = run.writeMsByWindow.map((figures, index) => [
    `${(index * run.windowS) / 60}–${((index + 1) * run.windowS) / 60} min`,
    ...writeCells(figures),
    ...flushCells(run.flushByWindow[index] ?? null),
  ]);
  const ratio = first && last ? (last.p99 / first.p99).toFixed(2) : '-';
  return [
    renderTable([['window', 'write p50', 'p99', 'p99.9', 'max', 'flush p50', 'p99', 'p99.9', '<= 18 ms'], ...rows]),
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
