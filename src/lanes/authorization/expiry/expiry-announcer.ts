import type { JobsOptions } from 'bullmq';
import type { ExpiryJob } from './expiry-job';
import { EXPIRY_JOB } from './expiry-job';

/** The database's clock decides, and may be behind this one's. */
const CLOCKS_APART_MS = 1_000;

/** The part of a queue that the announcer needs; never later than 50 ms. */
export interface ExpiryQueue {
  enqueue(name: string, data: ExpiryJob, options: JobsOptions): Promise<unknown>;
}

export interface ExpiryAnnouncerOptions {
  readonly queue: ExpiryQueue;
  /** One job for all that expires within this. */
  readonly bucketMs: number;
  /** Announcements under way; beyond it they are dropped. */
  readonly inFlightMax: number;
  readonly wallNow: () => number;
  /** Not announced: the sweep finds it. */
  readonly onDropped: () => void;
}

/**
 * The fast way of expiry (contract 9): a delayed job when a hold is placed. One job per authorization would be 850
 * million of them at 1,400/s and 7 days, so there is one per bucket of time, 60,480 of 10 s in 7 days, whoever announces
 * it: the bucket is the job's id. An approval thus costs a division and a comparison, and one enqueue per bucket and
 * process that nobody waits for. What Redis does not take is dropped; the sweep finds it.
 */
export class ExpiryAnnouncer {
  readonly #options: ExpiryAnnouncerOptions;
  #lastBucket = -1;
  #inFlight = 0;

  constructor(options: ExpiryAnnouncerOptions) {
    this.#options = options;
  }

  /** Never throws, never waits. */
  announce(expiresAt: Date): void {
    const { bucketMs, inFlightMax, onDropped } = this.#options;
    const bucket = Math.ceil(expiresAt.getTime() / bucketMs);
    // Answers of a group come in any order; a bucket that is past has been announced when it was the last.
    if (bucket <= this.#lastBucket) return;
    this.#lastBucket = bucket;
    if (this.#inFlight >= inFlightMax) {
      onDropped();
      return;
    }
    this.#inFlight += 1;
    void this.#enqueue(bucket);
  }

  async #enqueue(bucket: number): Promise<void> {
    const { queue, bucketMs, wallNow, onDropped } = this.#options;
    const dueMs = bucket * bucketMs;
    try {
      await queue.enqueue(
        EXPIRY_JOB,
        { due_at: new Date(dueMs).toISOString() },
        {
          jobId: `due-${bucket}`,
          delay: Math.max(0, dueMs + CLOCKS_APART_MS - wallNow()),
          removeOnComplete: true,
          attempts: 1,
        },
      );
    } catch {
      onDropped();
    } finally {
      this.#inFlight -= 1;
    }
  }
}
