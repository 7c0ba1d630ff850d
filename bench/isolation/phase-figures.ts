import type { SecondRow } from '../load/result';
import { percentileOfSorted, rounded, spreadOf, type Spread } from '../support/statistics';
import type { AnswerRow } from './answer-log';
import { type FaultKind } from './faults';
import type { Phase } from './schedule';

/** The cards of one phase: everything that was due in it, whenever it was answered. */
export interface PhaseFigures extends Phase {
  readonly due: number;
  readonly answered: number;
  readonly succeeded: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

export function figuresOf(
  phases: readonly Phase[],
  answers: Iterable<AnswerRow>,
  series: readonly SecondRow[],
  startedAtMs: number,
): PhaseFigures[] {
  const latencies = phases.map((): number[] => []);
  for (const { dueMs, latencyMs } of answers) {
    const second = (dueMs - startedAtMs) / 1_000;
    const index = phases.findIndex(({ fromS, toS }) => second >= fromS && second < toS);
    latencies[index]?.push(latencyMs);
  }
  return phases.map((phase, index) => {
    const rows = series.filter(({ second }) => second >= phase.fromS && second < phase.toS);
    const sum = (counter: 'due' | 'answered' | 'succeeded'): number => rows.reduce((all, row) => all + row[counter], 0);
    const sorted = (latencies[index] ?? []).sort((left, right) => left - right);
    const percentile = (share: number): number | null =>
      sorted.length === 0 ? null : rounded(percentileOfSorted(sorted, share), 2);
    return {
      ...phase,
      due: sum('due'),
      answered: sum('answered'),
      succeeded: sum('succeeded'),
      p50Ms: percentile(0.5),
      p99Ms: percentile(0.99),
      maxMs: percentile(1),
    };
  });
}

/** One kind of fault over all its pairs. */
export interface FaultSummary {
  readonly kind: FaultKind;
  readonly pairs: number;
  readonly quietP99Ms: Spread | null;
  readonly faultP99Ms: Spread | null;
  /** p99 of the fault phase ÷ p99 of the quiet phase before it. */
  readonly p99Ratio: Spread | null;
  /** Answered of due, and answered 201 of due, over all fault phases. */
  readonly answeredShare: number;
  readonly succeededShare: number;
  readonly quietSucceededShare: number;
}

export function summarizeFault(kind: FaultKind, figures: readonly PhaseFigures[]): FaultSummary {
  const own = figures.filter((phase) => phase.kind === kind);
  const [quiet, fault] = [own.filter(({ mode }) => mode === 'quiet'), own.filter(({ mode }) => mode === 'fault')];
  const ratios = fault.map(({ pair, p99Ms }) => {
    const before = quiet.find((phase) => phase.pair === pair)?.p99Ms ?? null;
    return before === null || p99Ms === null ? null : rounded(p99Ms / before, 3);
  });
  const p99Of = (phases: readonly PhaseFigures[]): Spread | null => spreadOf(known(phases.map(({ p99Ms }) => p99Ms)));
  return {
    kind,
    pairs: fault.length,
    quietP99Ms: p99Of(quiet),
    faultP99Ms: p99Of(fault),
    p99Ratio: spreadOf(known(ratios)),
    answeredShare: shareOf(fault, 'answered'),
    succeededShare: shareOf(fault, 'succeeded'),
    quietSucceededShare: shareOf(quiet, 'succeeded'),
  };
}

function shareOf(phases: readonly PhaseFigures[], counter: 'answered' | 'succeeded'): number {
  const due = phases.reduce((sum, phase) => sum + phase.due, 0);
  return due === 0 ? 0 : phases.reduce((sum, phase) => sum + phase[counter], 0) / due;
}

function known(values: readonly (number | null)[]): number[] {
  return values.filter((value) => value !== null);
}
