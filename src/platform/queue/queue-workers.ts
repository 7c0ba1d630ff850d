import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Worker } from 'bullmq';

/**
 * Starts the workers of this process once it has settings, and drains them before anything that their jobs use is
 * closed: Nest closes queues and datasources in `onApplicationShutdown`, which comes later.
 */
@Injectable()
export class QueueWorkers implements BeforeApplicationShutdown {
  readonly #workers = new Set<Worker>();

  /** For a processor's `onApplicationBootstrap`. Does not wait for Redis. */
  start(worker: Worker, options: { concurrency: number }): void {
    worker.concurrency = options.concurrency;
    this.#workers.add(worker);
    worker.run().catch((error: Error) => worker.emit('error', error));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()));
  }
}
