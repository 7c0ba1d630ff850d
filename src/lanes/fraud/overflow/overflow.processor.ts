import { setTimeout as delay } from 'node:timers/promises';
import { Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { type Job, UnrecoverableError, WaitingError } from 'bullmq';
import { BulkheadRefusedError } from '../../../bulkhead/bulkhead';
import { QueueWorkers } from '../../../platform/queue/queue-workers';
import { evaluationTaskOf, OVERFLOW_QUEUE, type OverflowResult } from './overflow-job';
import { OverflowRunner } from './overflow-runner';

export const OVERFLOW_CONCURRENCY = Symbol('OVERFLOW_CONCURRENCY');

/**
 * How soon others take over the jobs of a process that was killed: its locks run out, and the next look finds them. A
 * job whose process dies under it is taken over any number of times; it is never given up as one that kills.
 */
const recovery = { lockDuration: 10_000, stalledInterval: 5_000, maxStalledCount: 1_000_000_000 };

const GIVE_BACK_MS_MAX = 500;

/** Runs the jobs of `fraud-overflow` under the lane's background permits. */
@Processor({ name: OVERFLOW_QUEUE, configKey: 'fraud' }, recovery)
export class OverflowProcessor extends WorkerHost implements OnApplicationBootstrap {
  constructor(
    private readonly workers: QueueWorkers,
    private readonly runner: OverflowRunner,
    @Inject(OVERFLOW_CONCURRENCY) private readonly concurrency: number,
  ) {
    super();
  }

  onApplicationBootstrap(): void {
    this.workers.start(this.worker, { concurrency: this.concurrency });
  }

  override async process(
    job: Job<unknown, OverflowResult>,
    token?: string,
    signal?: AbortSignal,
  ): Promise<OverflowResult> {
    const task = evaluationTaskOf(job.id, job.data);
    if (task === null) throw new UnrecoverableError('This is no evaluation');
    try {
      return await this.runner.run(task, job.timestamp, signal);
    } catch (error) {
      if (error instanceof BulkheadRefusedError && error.reason === 'draining') return this.#leave(job, token);
      throw error;
    }
  }

  /**
   * The process is ending: it takes no more jobs, and gives this one back for another to take at once. Where Redis is
   * away it would wait for it, and the lock runs out by itself.
   */
  async #leave(job: Job, token: string | undefined): Promise<never> {
    void this.worker.close();
    const given = job.moveToWait(token).catch(() => 0);
    await Promise.race([given, delay(GIVE_BACK_MS_MAX, null, { ref: false })]);
    throw new WaitingError();
  }
}
