import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { Bulkhead, BulkheadSnapshot } from '../bulkhead/bulkhead';

/** A lane's bulkheads, and their place in the order of closing: permits come home before workers and pools close. */
export class LaneBulkheads implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    readonly main: Bulkhead,
    /** Null where reads share the lane's permits. */
    readonly reads: Bulkhead | null,
  ) {}

  snapshots(): readonly BulkheadSnapshot[] {
    return this.#all().map((bulkhead) => bulkhead.snapshot());
  }

  /** Zombies may put this off without end; the process's grace ends the wait. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#all().map((bulkhead) => bulkhead.drain()));
  }

  onApplicationShutdown(): void {
    for (const bulkhead of this.#all()) bulkhead.close();
  }

  #all(): readonly Bulkhead[] {
    return this.reads === null ? [this.main] : [this.main, this.reads];
  }
}
