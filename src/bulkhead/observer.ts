import type { RefusalReason } from './errors';
import type { LaneState } from './lane-state';

/**
 * What a bulkhead tells as it happens, in process and synchronously. Each execution is counted once: it is refused,
 * or admitted and then at most one of timed out and left by its caller (contract 4.9).
 */
export interface BulkheadObserver {
  /** Work is about to begin. */
  onAdmitted?(queueWaitMs: number): void;
  /** `background`: the lane's own worker was refused, which costs no caller anything. */
  onRefused?(reason: RefusalReason, background: boolean): void;
  onExecutionTimeout?(): void;
  /** A caller went while its work was running. */
  onClientAbort?(): void;
  /** A permit has come back; the time from its grant, zombie time included. */
  onReleased?(executionMs: number): void;
  onStateChanged?(from: LaneState, to: LaneState): void;
  /** A permit was released a second time: ignored, but somebody's accounting is wrong. */
  onReleaseViolation?(): void;
  /** Once per zombie, when it is 30 s old. `zombies`: how many are that old now, this one included. */
  onZombieAlert?(zombies: number): void;
  /** Half of the permits or more are zombies older than 30 s; once each time this becomes true. */
  onZombiesHalf?(zombies: number): void;
}

type Handlers = Partial<Record<keyof BulkheadObserver, (...values: readonly unknown[]) => void>>;

/** Tells an observer, and goes on whatever the observer does: a fault in a metric must never cost a permit. */
export class GuardedObserver {
  readonly #handlers: Handlers;
  /** Whether anyone wants to know how long executions take: reading the clock costs more than the permit. */
  readonly timesExecutions: boolean;
  /** How often the observer has thrown. */
  failures = 0;

  constructor(observer: BulkheadObserver) {
    this.#handlers = observer as Handlers;
    this.timesExecutions = observer.onReleased !== undefined;
  }

  tell<E extends keyof BulkheadObserver>(event: E, ...values: Parameters<NonNullable<BulkheadObserver[E]>>): void {
    try {
      this.#handlers[event]?.(...values);
    } catch {
      this.failures += 1;
    }
  }
}
