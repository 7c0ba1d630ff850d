import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { QueueWorkers } from '../../../platform/queue/queue-workers';
import { Reconciler } from './reconciler';
import { RECONCILIATION_QUEUE } from './reconciliation-job';

export const RECONCILIATION_CONCURRENCY = Symbol('RECONCILIATION_CONCURRENCY');

/** Delivered at least once, and as harmless a hundred times: a job only says that it is time to look. */
@Processor({ name: RECONCILIATION_QUEUE, configKey: 'tax' })
export class ReconciliationProcessor extends WorkerHost implements OnApplicationBootstrap {
  constructor(
    private readonly workers: QueueWorkers,
    private readonly reconciler: Reconciler,
    @Inject(RECONCILIATION_CONCURRENCY) private readonly concurrency: number,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    this.workers.start(this.worker, { concurrency: this.concurrency });
  }

  process(): Promise<void> {
    this.reconciler.wake();
    return Promise.resolve();
  }
}
