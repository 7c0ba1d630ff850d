import { type Clock } from '../clock';

/** A clock on which sleeping takes no time: it moves by what was slept, and remembers each sleep. */
export interface ManualClock extends Clock {
  sleptMs: number[];
  /** Called before each sleep, as to abort during one. */
  beforeSleep: () => void;
}

export function manualClock(): ManualClock {
  let nowMs = 0;
  const clock: ManualClock = {
    sleptMs: [],
    beforeSleep: () => undefined,
    nowMs: () => nowMs,
    sleep: async (durationMs, signal) => {
      clock.beforeSleep();
      signal?.throwIfAborted();
      clock.sleptMs.push(durationMs);
      nowMs += durationMs;
    },
  };
  return clock;
}
