import type { LedgerRun } from './measured-run';

const GROWTH = 1.25;
const STEPS_MAX = 16;
/** Items a second; the answer is known to this. */
const RESOLUTION = 2_000;

export interface MaxRate {
  /** The highest rate that held in a step of its own; null where not even the first did. */
  readonly rate: number | null;
  readonly failedRate: number | null;
  /** The lowest rate that did not hold was void: the limit is the generator's. */
  readonly limitedByGenerator: boolean;
}

/** Raises the rate until a step does not hold, then halves the gap. */
export async function findMaxRate(start: number, step: (rate: number) => Promise<LedgerRun>): Promise<MaxRate> {
  let best: number | null = null;
  let failed: LedgerRun | null = null;
  let rate = start;
  for (let steps = 0; steps < STEPS_MAX; steps += 1) {
    const run = await step(rate);
    if (run.held) best = rate;
    else failed = run;
    if (failed === null) {
      rate = onGrid(rate * GROWTH);
      continue;
    }
    if (best === null || failed.itemsPerSecond - best <= RESOLUTION) break;
    rate = onGrid((best + failed.itemsPerSecond) / 2);
    if (rate === best || rate === failed.itemsPerSecond) break;
  }
  return { rate: best, failedRate: failed?.itemsPerSecond ?? null, limitedByGenerator: failed?.void === true };
}

function onGrid(rate: number): number {
  return Math.round(rate / 1_000) * 1_000;
}
