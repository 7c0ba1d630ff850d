import type { Spread } from '../../support/statistics';
import { cell, renderTable } from '../../support/table';
import type { DrainRun, Seconds } from './drain-run';

function spreadCell(spread: Spread | null | undefined): string {
  if (spread === null || spread === undefined) return '-';
  return `${cell(spread.median)} (${cell(spread.min)}–${cell(spread.max)})`;
}

function secondsCells(seconds: Seconds | null): string[] {
  return [String(seconds?.seconds ?? '-'), spreadCell(seconds?.p50Ms), spreadCell(seconds?.p99Ms)];
}

/** One row per drain; latencies of whole seconds of the load: median over those seconds, least and most. */
export function renderDrains(runs: readonly DrainRun[]): string {
  const head = [
    'drain',
    'accepted',
    '202/s',
    '202 p50, ms',
    '202 p99, ms',
    'drained, s',
    'jobs/s',
    'quiet s',
    'p50, ms',
    'p99, ms',
    'draining s',
    'p50, ms',
    'p99, ms',
    'one result each',
  ];
  const rows = runs.map((run) => [
    run.void ? `${run.kind} (VOID: ${run.voidReason})` : run.kind,
    String(run.backlog.accepted),
    String(run.backlog.perSecond),
    cell(run.backlog.latencyMs?.p50),
    cell(run.backlog.latencyMs?.p99),
    cell(run.drainedMs / 1_000, 2),
    cell(run.jobsPerSecond, 0),
    ...secondsCells(run.quiet),
    ...secondsCells(run.draining),
    run.withOneResult === run.backlog.accepted ? 'yes' : `NO: ${run.withOneResult}`,
  ]);
  return renderTable([head, ...rows]);
}
