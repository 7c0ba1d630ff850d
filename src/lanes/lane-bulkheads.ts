import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { Bulkhead, BulkheadSnapshot } from '../bulkhead/bulkhead';

/** What gathers work before the permits, in a lane that has more there than the bulkhead's own queue. */
export interface BeforePermits {
  /** What the lane's state and queue are there. */
  readonly view: () => Pick<BulkheadSnapshot, 'state' | 'pressure' | 'queued' | 'queueMax'>;
  /** Resolves when all its work has had its permit and has ended; needs permits until then. */
  readonly drain: () => Promise<void>;
  readonly close: () => void;
}

/** A lane's bulkheads, and their place in the order of closing: permits come home before workers and pools close. */
export class LaneBulkheads implements BeforeApplicationShutdown, OnApplicationShutdown {
  #before: BeforePermits | null = null;

  constructor(
    readonly main: Bulkhead,
    /** Null where reads share the lane's permits. */
    readonly reads: Bulkhead | null,
  ) {}

  standInFront(before: BeforePermits): void {
    this.#before = before;
  }

  snapshots(): readonly BulkheadSnapshot[] {
    return this.#all().map((bulkhead) => ({
      ...bulkhead.snapshot(),
      ...(bulkhead === this.main && this.#before?.view()),
    }));
  }

  /** Zombies may put this off without end; the process's grace ends the wait. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#before?.drain();
    await Promise.all(this.#all().map((bulkhead) => bulkhead.drain()));
  }

  onApplicationShutdown(): void {
    this.#before?.close();
    for (const bulkhead of this.#all()) bulkhead.close();
  }

  #all(): readonly Bulkhead[] {
    return this.reads === null ? [this.main] : [this.main, this.reads];
  }
}
