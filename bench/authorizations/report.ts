import { cell, percentCell, renderTable } from '../support/table';
import type { Spread } from '../support/statistics';
import type { Comparison } from './control';
import type { MaxRate } from './find-max';
import type { MeasuredRun } from './measured-run';
import type { ProfileSummary } from './profile';
import type { RunsSummary } from './topology-runs';

const RUN_HEAD = [
  'run',
  'rate/s',
  'p50',
  'p90',
  'p99',
  'p99.9',
  'max',
  'first try',
  'unknown',
  'lag p99',
  'CPU µs/req',
  'PG CPU',
  'RSS MiB',
  'group',
  'audit',
  '',
];

export function renderRuns(runs: readonly MeasuredRun[]): string {
  return renderTable([RUN_HEAD, ...runs.map(runCells)]);
}

function runCells(run: MeasuredRun): string[] {
  const { latencyMs, serverUsage, postgresUsage } = run;
  return [
    run.server,
    String(run.rate),
    ...[latencyMs?.p50, latencyMs?.p90, latencyMs?.p99, latencyMs?.p999, latencyMs?.max].map((ms) => cell(ms)),
    percentCell(run.firstTryShare),
    String(run.unknown + run.notSent + run.overflow),
    cell(run.generatorLagMs?.p99),
    cell(run.cpuMicrosecondsPerRequest, 0),
    percentCell(postgresUsage?.cpuShare ?? null, 0),
    cell(serverUsage?.rssMiBMax, 0),
    cell(run.groupSizeMean, 2),
    run.audit.passed ? `${run.audit.answered} ok` : 'FAILED',
    run.void ? `VOID: ${run.voidReason ?? ''}` : run.held ? 'held' : 'not held',
  ];
}

function spreadCell(spread: Spread | null, digits = 1): string {
  return spread === null
    ? '-'
    : `${cell(spread.median, digits)} (${cell(spread.min, digits)}–${cell(spread.max, digits)})`;
}

export function renderSummaries(summaries: readonly RunsSummary[]): string {
  return renderTable([
    ['median (spread)', 'held', 'void', 'p50', 'p90', 'p99', 'p99.9', 'max', 'CPU µs/req', 'group'],
    ...summaries.map((each) => [
      each.server,
      `${each.heldRuns} of ${each.runs}`,
      String(each.voidRuns),
      ...[each.p50Ms, each.p90Ms, each.p99Ms, each.p999Ms, each.maxMs].map((spread) => spreadCell(spread)),
      spreadCell(each.cpuMicrosecondsPerRequest, 0),
      spreadCell(each.groupSizeMean, 2),
    ]),
  ]);
}

export function renderMaxRate(server: string, { rate, failedRate, limitedByGenerator }: MaxRate): string {
  const held = rate === null ? 'no rate held' : `${rate}/s held`;
  if (failedRate === null) return `${server}: ${held}, and none that was tried failed`;
  const how = limitedByGenerator ? 'was void: the generator, not the server, is the limit here' : 'did not';
  return `${server}: ${held}; ${failedRate}/s ${how}`;
}

export function renderComparison({ pairs, cpuRatio, cpuRatioBeyondIdle, withinTarget }: Comparison): string {
  const verdict = withinTarget === null ? 'nothing to compare' : withinTarget ? 'within 1.25' : 'BEYOND 1.25';
  return [
    renderRuns(pairs.flatMap(({ product, plain }) => [product, plain])),
    `CPU per request, product ÷ plain, over ${pairs.length} interleaved pairs: ${spreadCell(cpuRatio, 3)}: ${verdict}`,
    `the same beyond what each does idle: ${spreadCell(cpuRatioBeyondIdle, 3)}`,
  ].join('\n');
}

const FUNCTIONS_SHOWN = 25;

export function renderProfile(server: string, profile: ProfileSummary): string {
  const rows = (title: string, times: ProfileSummary['byFunction'], max: number): string =>
    renderTable([
      [title, 'µs/req'],
      ...times.slice(0, max).map(({ name, microsecondsPerRequest }) => [name, cell(microsecondsPerRequest, 2)]),
    ]);
  return [
    `${server} under the profiler: ${profile.busyMicrosecondsPerRequest} µs of the event loop per request`,
    rows('own time by origin', profile.byOrigin, FUNCTIONS_SHOWN),
    '',
    rows('own time by function', profile.byFunction, FUNCTIONS_SHOWN),
  ].join('\n');
}
