import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { QueueWorkers } from '../../../platform/queue/queue-workers';
import { EXPIRY_QUEUE } from './expiry-job';
import { ExpirySweeper } from './expiry-sweeper';

export const EXPIRY_CONCURRENCY = Symbol('EXPIRY_CONCURRENCY');

/**
 * Delivered at least once, and as harmless a hundred times: a job only says that it is time to look, and the sweeper
 * looks in its own turn, under the lane's background permits.
 */
@Processor({ name: EXPIRY_QUEUE, configKey: 'authorization' })
export class ExpiryProcessor extends WorkerHost implements OnApplicationBootstrap {
  constructor(
    private readonly workers: QueueWorkers,
    private readonly sweeper: ExpirySweeper,
    @Inject(EXPIRY_CONCURRENCY) private readonly concurrency: number,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    this.workers.start(this.worker, { concurrency: this.concurrency });
  }

  process(): Promise<void> {
    this.sweeper.wake();
    return Promise.resolve();
  }
}
