import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { CertifiedEstimator } from '../../../src/lanes/tax/compensation/certified-estimator';
import type { CompensationTable, CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { basketFor } from './baskets';
import { trialOf } from './trial';

/** Estimates a second that the table must bear (contract 10). */
export const PACE_PER_SECOND = 1_800;
/** A little more is offered, so that the last tick does not make a run too slow that was fast enough. */
const OFFERED_PER_SECOND = 1_900;
const TICK_MS = 10;

export interface Pace {
  readonly faults: readonly string[];
  /** That were made, late ones included. */
  readonly perSecond: number;
}

/** The time that a run goes by; a test has its own. */
export interface PaceTime {
  now(): number;
  wait(ms: number): Promise<unknown>;
}

const realTime: PaceTime = { now: () => performance.now(), wait: (ms) => delay(ms) };

/** Makes 1,800 estimates a second for a while, evenly spaced, over all rows: none may fail, and none may fall behind. */
export async function runAtPace(
  file: CompensationTableFile,
  table: CompensationTable,
  paceMs: number,
  time: PaceTime = realTime,
): Promise<Pace> {
  const estimator = new CertifiedEstimator(trialOf(table), () => 0);
  const requests = file.rows.map((row) => basketFor(row, 'USD'));
  const wanted = Math.ceil((OFFERED_PER_SECOND * paceMs) / 1_000);
  const started = time.now();
  let made = 0;
  let failed = 0;
  while (made < wanted) {
    const due = Math.min(wanted, Math.floor(((time.now() - started) * OFFERED_PER_SECOND) / 1_000) + 1);
    for (; made < due; made += 1) {
      const request = requests[made % requests.length];
      if (request === undefined || estimator.estimate(request) === null) failed += 1;
    }
    if (made < wanted) await time.wait(TICK_MS);
  }
  const seconds = (time.now() - started) / 1_000;
  const perSecond = Math.floor(made / seconds);
  const faults = failed > 0 ? [`${failed} of ${made} requests at ${PACE_PER_SECOND} a second had no estimate`] : [];
  if (perSecond < PACE_PER_SECOND) {
    faults.push(`${perSecond} estimates a second, where ${PACE_PER_SECOND} are due`);
  }
  return { faults, perSecond };
}
