import type { Clock, TimerHandle } from '../../src/shared/clock';

interface FakeTimer {
  readonly callback: () => void;
  readonly dueMs: number;
}

/** A clock moved by hand. Nothing happens on its own: time passes, and timers fire, only in the calls below. */
export class FakeClock implements Clock {
  #nowMs: number;
  #timers: FakeTimer[] = [];
  /** How many timers were ever set: shows a timer per call where there should be one for all. */
  scheduledTotal = 0;

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  schedule(callback: () => void, delayMs: number): TimerHandle {
    const timer: FakeTimer = { callback, dueMs: this.#nowMs + Math.max(delayMs, 0) };
    this.#timers.push(timer);
    this.scheduledTotal += 1;
    return timer;
  }

  cancel(handle: TimerHandle): void {
    this.#timers = this.#timers.filter((timer) => timer !== handle);
  }

  /** Timers set and neither fired nor cancelled. */
  get armed(): number {
    return this.#timers.length;
  }

  /** Milliseconds until the next timer; `Infinity` when none is armed. */
  get nextInMs(): number {
    return Math.min(Infinity, ...this.#timers.map((timer) => timer.dueMs)) - this.#nowMs;
  }

  /** Lets time pass; each timer fires at its own moment, equal ones in the order in which they were set. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      let next: FakeTimer | undefined;
      for (const timer of this.#timers) {
        if (timer.dueMs <= endMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
      }
      if (next === undefined) break;
      this.cancel(next);
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.callback();
    }
    this.#nowMs = endMs;
  }

  /** Time passes and no timer fires, as when the event loop is blocked. `advance(0)` fires what came due meanwhile. */
  stall(ms: number): void {
    this.#nowMs += ms;
  }
}
