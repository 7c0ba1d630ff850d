import type { Clock } from '../../../shared/clock';

/** Resolves after `pauseMs`, or at once when `signal` ends the wait. */
export function pause(clock: Clock, pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      signal?.removeEventListener('abort', end);
      clock.cancel(timer);
      resolve();
    };
    const timer = clock.schedule(end, pauseMs);
    signal?.addEventListener('abort', end);
  });
}
