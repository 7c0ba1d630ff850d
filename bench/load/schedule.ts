import { type Stage } from './plan';

/** Against the rounding of sums and roots: a request that falls on the very end of a stage belongs to the next one. */
const EPSILON = 1e-9;

/**
 * When each request is due, in milliseconds from the start, in order. A constant rate is evenly spaced and starts at
 * the stage's first instant; on a ramp request i is due when the integral of the rate reaches i.
 */
export function* schedule(stages: readonly Stage[]): Generator<number, void> {
  let stageStartS = 0;
  for (const { durationS, rate, rateEnd = rate } of stages) {
    const requests = (durationS * (rate + rateEnd)) / 2;
    for (let index = 0; index < requests - EPSILON; index += 1) {
      yield (stageStartS + offsetS(index, durationS, rate, rateEnd)) * 1_000;
    }
    stageStartS += durationS;
  }
}

/** Solves rate·t + (rateEnd − rate)·t² / (2·duration) = index for t, in the form that also holds for equal rates. */
function offsetS(index: number, durationS: number, rate: number, rateEnd: number): number {
  if (index === 0) return 0;
  const slope = (rateEnd - rate) / durationS;
  const root = Math.sqrt(Math.max(0, rate * rate + 2 * slope * index));
  return (2 * index) / (rate + root);
}
