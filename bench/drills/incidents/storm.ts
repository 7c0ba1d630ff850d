import type { Stage } from '../../load/plan';

/** INC-4491: upstream clients sent failed quotes again every 50 ms without jitter, and 150/s became 1,800/s [ADV-IR-01]. */
export const INCIDENT = { fromPerS: 150, toPerS: 1_800, everyMs: 50 } as const;

/** What one burst takes to be sent: clients that share a clock do not share a process. */
const BURST_MS = 5;

/** A storm that grows evenly from one rate to the other, all of it in bursts. */
export function burstStages(lengthS: number, { fromPerS, toPerS, everyMs }: typeof INCIDENT = INCIDENT): Stage[] {
  const bursts = Math.floor((lengthS * 1_000) / everyMs);
  return Array.from({ length: bursts }, (_, index) => {
    const perS = fromPerS + ((toPerS - fromPerS) * index) / Math.max(bursts - 1, 1);
    const inBurst = Math.round((perS * everyMs) / 1_000);
    return [
      { durationS: BURST_MS / 1_000, rate: inBurst / (BURST_MS / 1_000) },
      { durationS: (everyMs - BURST_MS) / 1_000, rate: 0 },
    ];
  }).flat();
}
