import { performance } from 'node:perf_hooks';
import type { Clock, TimerHandle } from '../shared/clock';

/** The process's monotonic clock (`performance.now`), which no change of the wall clock moves. */
export const systemClock: Clock = {
  now: () => performance.now(),
  schedule(callback, delayMs): TimerHandle {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return timer;
  },
  cancel(handle): void {
    clearTimeout(handle as NodeJS.Timeout);
  },
};
