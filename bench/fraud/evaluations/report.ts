import { cell, percentCell, renderTable } from '../../support/table';
import type { LoadRun } from './load-run';
import { microsecondsPerRule, type RuleCost } from './rule-cost';

export function renderRuleCost(costs: readonly RuleCost[]): string {
  const rows = costs.map(({ rules, microsecondsPerJudgement: spread }) => [
    String(rules),
    spread === null ? '-' : `${cell(spread.median)} (${cell(spread.min)}–${cell(spread.max)})`,
  ]);
  const table = renderTable([['rules', 'µs per judgement, median (spread)'], ...rows]);
  return `${table}\none more rule: ${cell(microsecondsPerRule(costs), 2)} µs`;
}

/** One row for each kind of answer; what was sent, and what it cost, in the first of a load. */
export function renderLoads(runs: readonly LoadRun[]): string {
  const head = [
    'load',
    'rate/s',
    'answer',
    'count',
    'share',
    'p50',
    'p90',
    'p99',
    'max',
    'CPU µs/answer',
    'PG CPU',
    '',
  ];
  const rows = runs.flatMap((run) =>
    run.statuses.map(({ status, count, share, latencyMs }, index) => [
      index === 0 ? run.what : '',
      index === 0 ? String(Math.round(run.rate)) : '',
      status,
      String(count),
      percentCell(share, 2),
      ...[latencyMs?.p50, latencyMs?.p90, latencyMs?.p99, latencyMs?.max].map((ms) => cell(ms)),
      index === 0 ? cell(run.cpuMicrosecondsPerAnswer, 0) : '',
      index === 0 ? percentCell(run.postgresUsage?.cpuShare ?? null, 0) : '',
      index === 0 ? verdictOf(run) : '',
    ]),
  );
  return renderTable([head, ...rows]);
}

function verdictOf({ void: isVoid, voidReason, audit, unanswered }: LoadRun): string {
  const { evaluated, queued, drainedMs, withoutResult, doubled, untold } = audit;
  const results = audit.passed
    ? `${evaluated} evaluated, ${queued} queued and worked off ${cell(drainedMs / 1_000)} s later: one result each`
    : `FAILED: ${withoutResult} without a result, ${doubled} doubled`;
  const rest = unanswered + untold > 0 ? `, ${unanswered} unanswered, ${untold} results untold` : '';
  return `${isVoid ? `VOID (${voidReason ?? ''}); ` : ''}${results}${rest}`;
}
