import type { JobsOptions } from 'bullmq';
import { RECONCILIATION_JOB, type ReconciliationJob } from './reconciliation-job';

/** Estimates that were written within this share one job. */
const BUCKET_MS = 1_000;

/** The part of a queue that this needs; never later than 50 ms. */
export interface ReconciliationQueue {
  enqueue(name: string, data: ReconciliationJob, options: JobsOptions): Promise<unknown>;
}

/**
 * Tells `tax-reconciliation` that there is something to compare. Whichever process takes the job looks into the database;
 * what Redis does not take is found by the next look of any process.
 */
export class ReconciliationAnnouncer {
  constructor(
    private readonly queue: ReconciliationQueue,
    private readonly wallNowMs: () => number = () => Date.now(),
  ) {}

  /** Never throws, never waits. */
  announce(written: number): void {
    const jobId = `due-${Math.floor(this.wallNowMs() / BUCKET_MS)}`;
    const options: JobsOptions = { jobId, removeOnComplete: true, removeOnFail: true, attempts: 1 };
    this.queue.enqueue(RECONCILIATION_JOB, { written }, options).catch(() => undefined);
  }
}
