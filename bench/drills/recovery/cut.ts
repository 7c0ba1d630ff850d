import { percentileOfSorted, rounded } from '../../support/statistics';
import type { AnswerRow } from '../harness/answer-log';
import type { LaneSample } from '../harness/lane-watch';
import type { Phase } from './schedule';

/** Indexes of the plan's targets. */
export const CARDS = 0;
export const QUOTES = 1;

const REFUSED = 'ERR_TAX_BULKHEAD_SATURATED';
const CALL_FAILED = 'ERR_TAX_PROVIDER_UNAVAILABLE';

export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface PhaseAnswers {
  readonly phase: Phase;
  readonly cards: Latencies | null;
  /** First tries that were answered, and those of them that were answered 2xx. */
  readonly cardsFirstTries: number;
  readonly cardsFirstTry: number;
  readonly cards5xx: number;
  readonly quotesRefused: number;
  readonly quotesRefusedWithEstimate: number;
  readonly quotesAnswered: number;
  readonly quotesFailed: number;
  /** Answers to quotes that are none of these. */
  readonly quotesStray: number;
  /** From sending to the end of the answer. */
  readonly refusalMs: Latencies | null;
}

/** One second of the schedule, by the requests that were due in it. */
export interface Second {
  readonly second: number;
  readonly cardsP50Ms: number | null;
  readonly cardsP99Ms: number | null;
  readonly cardsRefused: number;
  readonly quotesRefused: number;
  readonly quotesAnswered: number;
  readonly quotesFailed: number;
  readonly refusalP99Ms: number | null;
}

class Tally {
  readonly cardMs: number[] = [];
  readonly refusalMs: number[] = [];
  cardsFirstTries = 0;
  cardsFirstTry = 0;
  cardsRefused = 0;
  cards5xx = 0;
  withEstimate = 0;
  answered = 0;
  failed = 0;
  stray = 0;

  add({ target, latencyMs, serviceMs, status, attempt, estimate }: AnswerRow, code: string): void {
    if (target === CARDS) {
      this.cardMs.push(latencyMs);
      if (attempt === 0) this.cardsFirstTries += 1;
      if (status >= 500) this.cards5xx += 1;
      if (status >= 300) this.cardsRefused += 1;
      else if (attempt === 0) this.cardsFirstTry += 1;
    } else if (status < 300) {
      this.answered += 1;
    } else if (code === REFUSED) {
      this.refusalMs.push(serviceMs);
      if (estimate) this.withEstimate += 1;
    } else if (code === CALL_FAILED) {
      this.failed += 1;
    } else {
      this.stray += 1;
    }
  }
}

export interface Cut {
  readonly phases: readonly PhaseAnswers[];
  readonly seconds: readonly Second[];
}

/** Cuts the answers of one load into its phases and seconds. An answer counts where its request was due. */
export function cut(
  rows: Iterable<AnswerRow>,
  codes: readonly string[],
  phases: readonly Phase[],
  startedAtMs: number,
): Cut {
  const lengthS = phases.at(-1)?.toS ?? 0;
  const phaseOf = Array.from({ length: lengthS }, (_, second) =>
    phases.findIndex(({ fromS, toS }) => second >= fromS && second < toS),
  );
  const byPhase = phases.map(() => new Tally());
  const bySecond = phaseOf.map(() => new Tally());
  for (const row of rows) {
    const second = Math.floor((row.dueMs - startedAtMs) / 1_000);
    const code = codes[row.code] ?? '';
    bySecond[second]?.add(row, code);
    byPhase[phaseOf[second] ?? -1]?.add(row, code);
  }
  return {
    phases: byPhase.map((tally, index) => answersOf(tally, phases[index] as Phase)),
    seconds: bySecond.map(secondOf),
  };
}

function answersOf(tally: Tally, phase: Phase): PhaseAnswers {
  return {
    phase,
    cards: latenciesOf(tally.cardMs),
    cardsFirstTries: tally.cardsFirstTries,
    cardsFirstTry: tally.cardsFirstTry,
    cards5xx: tally.cards5xx,
    quotesRefused: tally.refusalMs.length,
    quotesRefusedWithEstimate: tally.withEstimate,
    quotesAnswered: tally.answered,
    quotesFailed: tally.failed,
    quotesStray: tally.stray,
    refusalMs: latenciesOf(tally.refusalMs),
  };
}

/**
 * Of all first tries of a phase, those that were answered 2xx.
 *
 * @param unanswered of the whole run: what has no answer is counted against the phase, wherever it was due.
 */
export function firstTryShare(answers: PhaseAnswers | undefined, unanswered: number): number {
  if (answers === undefined || answers.cardsFirstTries === 0) return 0;
  return answers.cardsFirstTry / (answers.cardsFirstTries + unanswered);
}

function secondOf(tally: Tally, second: number): Second {
  const cards = latenciesOf(tally.cardMs);
  return {
    second,
    cardsP50Ms: cards?.p50 ?? null,
    cardsP99Ms: cards?.p99 ?? null,
    cardsRefused: tally.cardsRefused,
    quotesRefused: tally.refusalMs.length,
    quotesAnswered: tally.answered,
    quotesFailed: tally.failed,
    refusalP99Ms: latenciesOf(tally.refusalMs)?.p99 ?? null,
  };
}

function latenciesOf(values: number[]): Latencies | null {
  if (values.length === 0) return null;
  values.sort((left, right) => left - right);
  const at = (share: number): number => rounded(percentileOfSorted(values, share), 3);
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

/** Contract 13 and 14: fewer than five in use is the lane's usual state. */
const BASELINE_BELOW = 5;
const STEADY_MS = 1_000;

/**
 * From the restoration until fewer than five permits are in use and stay so for a second: a moment between two calls is
 * no recovery. Null where that never came, or the looks at the lane ended before the second was over.
 */
export function recoveryMs(samples: readonly LaneSample[], restoredAtMs: number): number | null {
  let since: number | null = null;
  for (const { atMs, inUse } of samples) {
    if (atMs < restoredAtMs) continue;
    if (inUse >= BASELINE_BELOW) since = null;
    else since ??= atMs;
    if (since !== null && atMs - since >= STEADY_MS) return since - restoredAtMs;
  }
  return null;
}

/** Of the looks between two moments, the share that found every permit in use. */
export function fullShare(samples: readonly LaneSample[], fromMs: number, toMs: number): number {
  const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  if (inside.length === 0) return 0;
  return inside.filter(({ inUse, permits }) => inUse === permits).length / inside.length;
}
