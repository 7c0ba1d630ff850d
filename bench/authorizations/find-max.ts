import type { LoadShape, MeasuredRun } from './measured-run';

export const STEP_S = 30;
const WARMUP_S = 5;
const RATE_MAX = 20_000;
/** The answer is known to this. */
const RESOLUTION = 100;
const GROWTH = 1.5;
/** Doubling and halving over the whole range takes fewer; a bound all the same. */
const STEPS_MAX = 24;

export type RateStep = Omit<LoadShape, 'lagP99MsMax'>;

export interface MaxRate {
  /** The highest rate that held in a step of its own; null where not even the first did. */
  readonly rate: number | null;
  /** The lowest rate that did not; null where none was found. */
  readonly failedRate: number | null;
  /** True where the limit was the generator's: the lowest rate that did not hold was void. */
  readonly limitedByGenerator: boolean;
  readonly steps: readonly MeasuredRun[];
}

/** Raises the rate until a step does not hold, then halves the gap. A void step is repeated once; both are recorded. */
export async function findMaxRate(
  startRate: number,
  step: (shape: RateStep) => Promise<MeasuredRun>,
): Promise<MaxRate> {
  const steps: MeasuredRun[] = [];
  let best: number | null = null;
  let failed: MeasuredRun | null = null;
  let rate: number | null = startRate;
  while (rate !== null && steps.length < STEPS_MAX) {
    const shape = { rate, warmupS: WARMUP_S, durationS: STEP_S };
    let run = await step(shape);
    steps.push(run);
    if (run.void) {
      run = await step(shape);
      steps.push(run);
    }
    if (run.held) best = rate;
    else failed = run;
    rate = nextRate(best, failed?.rate ?? null, startRate);
  }
  return { rate: best, failedRate: failed?.rate ?? null, limitedByGenerator: failed?.void === true, steps };
}

/** Null where the gap is small enough. */
export function nextRate(best: number | null, failed: number | null, startRate: number): number | null {
  if (failed === null) {
    const raised = onGrid((best ?? startRate) * GROWTH);
    return raised > RATE_MAX ? null : raised;
  }
  if (best === null) {
    const lowered = onGrid(failed / 2);
    return lowered < RESOLUTION ? null : lowered;
  }
  return failed - best <= RESOLUTION ? null : onGrid((best + failed) / 2);
}

function onGrid(rate: number): number {
  return Math.round(rate / RESOLUTION) * RESOLUTION;
}
