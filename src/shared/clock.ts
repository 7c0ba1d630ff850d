/** A pending callback of a {@link Clock}; opaque to its holder. */
export type TimerHandle = object;

/**
 * Monotonic time and timers. Everything that measures or waits takes one of these, so that tests own time
 * and a step of the wall clock can neither end a wait early nor keep it for ever.
 */
export interface Clock {
  /** Milliseconds since an arbitrary origin, fractional, never running backwards. */
  now(): number;
  /** Calls `callback` once, `delayMs` from now or a little later. The timer does not keep the process alive. */
  schedule(callback: () => void, delayMs: number): TimerHandle;
  /** Forgets a scheduled callback; a handle that has fired already is ignored. */
  cancel(handle: TimerHandle): void;
}
