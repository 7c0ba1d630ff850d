import type { Stage } from '../../load/plan';

/**
 * `warm`: quotes at a modest rate, the provider well. `quiet`: cards alone. `brownout`: cards and quotes, the provider slow.
 * `settle`: cards alone, until the quotes before have ended; in no figure. `main`: the long brownout. `recovery`: the same
 * load, the provider well again.
 */
export type PhaseKind = 'warm' | 'quiet' | 'brownout' | 'settle' | 'main' | 'recovery';

export interface Phase {
  readonly kind: PhaseKind;
  /** From 0; null where the phase belongs to no pair. */
  readonly pair: number | null;
  /** Whole seconds of the load's schedule. */
  readonly fromS: number;
  readonly toS: number;
}

export interface Shape {
  readonly warmS: number;
  readonly pairs: number;
  readonly phaseS: number;
  readonly settleS: number;
  readonly mainS: number;
  readonly recoveryS: number;
}

/** Quiet and brownout in turn, so that a drift of the machine meets both; then the long one, and its end. */
export function phasesOf({ warmS, pairs, phaseS, settleS, mainS, recoveryS }: Shape): Phase[] {
  const phases: Phase[] = [];
  const add = (kind: PhaseKind, lengthS: number, pair: number | null = null): void => {
    const fromS = phases.at(-1)?.toS ?? 0;
    if (lengthS > 0) phases.push({ kind, pair, fromS, toS: fromS + lengthS });
  };
  add('warm', warmS);
  add('settle', settleS);
  for (let pair = 0; pair < pairs; pair += 1) {
    add('quiet', phaseS, pair);
    add('brownout', phaseS, pair);
    add('settle', settleS);
  }
  add('main', mainS);
  add('recovery', recoveryS);
  return phases;
}

const WARM_QUOTES_PER_S = 20;

/** Quotes per second over the phases. */
export function quoteStages(phases: readonly Phase[], quotesPerS: number): Stage[] {
  return phases.map(({ kind, fromS, toS }) => ({ durationS: toS - fromS, rate: rateIn(kind, quotesPerS) }));
}

function rateIn(kind: PhaseKind, quotesPerS: number): number {
  switch (kind) {
    case 'quiet':
    case 'settle':
      return 0;
    case 'warm':
      return Math.min(WARM_QUOTES_PER_S, quotesPerS);
    case 'brownout':
    case 'main':
    case 'recovery':
      return quotesPerS;
    default:
      throw new Error(`Unknown phase ${String(kind satisfies never)}`);
  }
}
