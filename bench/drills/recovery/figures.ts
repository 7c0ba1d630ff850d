import { percentileOfSorted } from '../../support/statistics';

/** What a run measured, before anybody judges it. Null where it could not be measured, which then does not hold. */
export interface Measured {
  /** Why nothing may be concluded; null for a sound run. */
  readonly voidReason: string | null;
  readonly generatorLagP99Ms: number | null;
  readonly cards: {
    /** Of the long brownout, from the moment at which each was due. */
    readonly latencyMs: {
      readonly p50: number;
      readonly p99: number;
      readonly p999: number;
      readonly max: number;
    } | null;
    /** Answered 2xx at once, of all that were due in the long brownout. */
    readonly firstTryShare: number;
    /** Over the whole run, at once or within three retries that obey `Retry-After`. */
    readonly succeededShare: number;
    readonly answers5xx: number;
    /** Sent without an answer, and not sent at all. */
    readonly unanswered: number;
    /** p99 of each brownout ÷ p99 of the quiet phase before it. */
    readonly p99Ratios: readonly number[];
  };
  readonly tax: {
    /** Of the long brownout: the share of the looks at the lane that found all its permits in use. */
    readonly fullShare: number;
    readonly refused: number;
    /** Refusals that carry a certified estimate. */
    readonly estimateShare: number;
    /** Answers of the long brownout that are neither a refusal nor the failure of a call. */
    readonly strayAnswers: number;
    readonly shedServerMs: { readonly p50: number; readonly p99: number; readonly maxBound: number } | null;
    readonly shedClientMs: { readonly p50: number; readonly p99: number; readonly max: number } | null;
    /** From the restoration until fewer than five are in use, and stay so for a second. */
    readonly recoveryMs: number | null;
  };
  /** Callers that use `examples/client`, over the whole run. */
  readonly exampleCallers: { readonly answered: number; readonly failed: number };
  readonly zombiesMax: number;
  readonly releaseViolations: number;
  readonly orphanedConnections: number | null;
  /** In use by callers, or waiting, in any lane, after the load. */
  readonly permitsOut: number | null;
  /** Answered authorizations that are not in the database exactly once; money held without one counts as one more. */
  readonly auditFaults: number | null;
  readonly alertsRaised: number;
}

type Rule = 'at most' | 'below' | 'at least' | 'exactly';

export interface Figure {
  readonly value: number | null;
  /** Null where the figure is for information only. */
  readonly limit: number | null;
  readonly holds: boolean;
  readonly rule: Rule | null;
  readonly unit: 'ms' | '×' | 'share' | '';
  /** False: said, and not judged. */
  readonly gates: boolean;
}

export interface Verdict {
  readonly verdict: 'PASSED' | 'FAILED' | 'VOID';
  readonly voidReason: string | null;
  readonly figures: Readonly<Record<string, Figure>>;
}

/** Contract 14; beneath them, what the drill itself must have done for its figures to mean anything. */
export const limits = {
  shedP99Ms: 5,
  cardP99Ms: 120,
  firstTryShare: 0.999,
  p99Ratio: 1.1,
  recoveryMs: 5_000,
  /** A brownout in which the lane is not full proves nothing. */
  taxFullShare: 0.95,
} as const;

const exits = { PASSED: 0, FAILED: 1, VOID: 2 } as const;

export function exitCodeOf({ verdict }: Verdict): number {
  return exits[verdict];
}

/**
 * @param countsOnly A short run on a busy machine judges counts, the server's shed time and recovery; of the rest it only
 *   says what it measured.
 */
export function judge(measured: Measured, countsOnly: boolean): Verdict {
  return verdictOf(figuresOf(measured, !countsOnly), measured.voidReason);
}

/** Void beats failed: of a load that was not as planned nothing is known. */
export function verdictOf(figures: Verdict['figures'], voidReason: string | null): Verdict {
  const failed = Object.values(figures).some(({ gates, holds }) => gates && !holds);
  return { verdict: voidReason !== null ? 'VOID' : failed ? 'FAILED' : 'PASSED', voidReason, figures };
}

function figuresOf(measured: Measured, judgesTimes: boolean): Record<string, Figure> {
  const { cards, tax } = measured;
  const { latencyMs } = cards;
  const ratio = cards.p99Ratios.length === 0 ? null : medianOf(cards.p99Ratios);
  return {
    shed_server_p50_ms: told(tax.shedServerMs?.p50, 'ms'),
    shed_server_p99_ms: judged(tax.shedServerMs?.p99, 'below', limits.shedP99Ms, 'ms'),
    shed_server_max_bound_ms: told(tax.shedServerMs?.maxBound, 'ms'),
    shed_client_p50_ms: told(tax.shedClientMs?.p50, 'ms'),
    shed_client_p99_ms: told(tax.shedClientMs?.p99, 'ms'),
    shed_client_max_ms: told(tax.shedClientMs?.max, 'ms'),
    tax_refused: judged(tax.refused, 'at least', 1, ''),
    tax_refused_with_estimate: judged(tax.estimateShare, 'exactly', 1, 'share'),
    tax_stray_answers: judged(tax.strayAnswers, 'exactly', 0, ''),
    tax_full_share: judged(tax.fullShare, 'at least', limits.taxFullShare, 'share'),
    card_p50_ms: told(latencyMs?.p50, 'ms'),
    card_p99_ms: judged(latencyMs?.p99, 'at most', limits.cardP99Ms, 'ms', judgesTimes),
    card_p999_ms: told(latencyMs?.p999, 'ms'),
    card_max_ms: told(latencyMs?.max, 'ms'),
    card_p99_ratio: judged(ratio, 'at most', limits.p99Ratio, '×', judgesTimes),
    card_first_try: judged(cards.firstTryShare, 'at least', limits.firstTryShare, 'share'),
    card_after_retries: judged(cards.succeededShare, 'exactly', 1, 'share'),
    card_5xx: judged(cards.answers5xx, 'exactly', 0, ''),
    card_unanswered: judged(cards.unanswered, 'exactly', 0, ''),
    client_answered: judged(measured.exampleCallers.answered, 'at least', 1, ''),
    client_failures: judged(measured.exampleCallers.failed, 'exactly', 0, ''),
    tax_recovery_ms: judged(tax.recoveryMs, 'at most', limits.recoveryMs, 'ms'),
    zombies: judged(measured.zombiesMax, 'exactly', 0, ''),
    release_violations: judged(measured.releaseViolations, 'exactly', 0, ''),
    orphaned_connections: judged(measured.orphanedConnections, 'exactly', 0, ''),
    permits_out: judged(measured.permitsOut, 'exactly', 0, ''),
    audit_faults: judged(measured.auditFaults, 'exactly', 0, ''),
    alerts_raised: judged(measured.alertsRaised, 'exactly', 0, ''),
    generator_lag_p99_ms: told(measured.generatorLagP99Ms, 'ms'),
  };
}

export function judged(
  value: number | null | undefined,
  rule: Rule,
  limit: number,
  unit: Figure['unit'],
  gates = true,
): Figure {
  const known = value ?? null;
  return { value: known, limit, holds: known !== null && obeys(known, rule, limit), rule, unit, gates };
}

export function told(value: number | null | undefined, unit: Figure['unit']): Figure {
  return { value: value ?? null, limit: null, holds: true, rule: null, unit, gates: false };
}

/** NaN obeys nothing. */
function obeys(value: number, rule: Rule, limit: number): boolean {
  switch (rule) {
    case 'at most':
      return value <= limit;
    case 'below':
      return value < limit;
    case 'at least':
      return value >= limit;
    case 'exactly':
      return value === limit;
    default:
      throw new Error(`Unknown rule ${String(rule satisfies never)}`);
  }
}

function medianOf(values: readonly number[]): number {
  return percentileOfSorted(
    [...values].sort((left, right) => left - right),
    0.5,
  );
}
