/** Time as the client sees it; tests bring their own, so that no test waits for a `Retry-After`. */
export interface Clock {
  /** Monotonic: a wall clock that is set back would prolong every deadline. */
  nowMs(): number;
  /** Rejects with the signal's reason as soon as it is aborted. */
  sleep(durationMs: number, signal: AbortSignal | undefined): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  sleep: (durationMs, signal) =>
    new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, durationMs);
      if (signal?.aborted === true) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
