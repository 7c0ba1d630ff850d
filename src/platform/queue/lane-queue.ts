import { Logger } from '@nestjs/common';
import { type Job, type JobsOptions, Queue, type QueueOptions } from 'bullmq';
import { PaymentError } from '../../shared/problem';
import { ErrorThrottle } from './error-throttle';
import { queueProblems } from './queue.problems';
import { ProducerRedis } from './redis-connections';

/** Members that a lane's queue has beside BullMQ's. */
export interface LaneQueueOptions extends QueueOptions {
  /** A producer refuses to add to a queue in which this many wait. */
  readonly waitingMax?: number;
}

/** A producer's whole wait, count included (contract 10: enqueueing takes at most 50 ms). */
const ENQUEUE_MS_MAX = 50;
/** So long a count of waiting jobs is believed; what this process adds meanwhile is added to it. */
const COUNT_FRESH_MS = 250;
const CLOSE_MS_MAX = 1_000;

/** How long jobs are kept when they are done; the queues are no archive. */
export const jobRetention: JobsOptions = {
  removeOnComplete: { age: 3_600, count: 1_000 },
  removeOnFail: { age: 7 * 86_400, count: 10_000 },
};

/** A queue whose producers always get an answer, and soon: the job is in, or it is known why not. */
export class LaneQueue<Data = unknown, Result = unknown> extends Queue<Data, Result, string, Data, Result, string> {
  readonly #redis: ProducerRedis | null;
  readonly #waitingMax: number;
  readonly #logger = new Logger(LaneQueue.name);
  readonly #throttle = new ErrorThrottle();
  #waiting = 0;
  #countedAtMs = -Infinity;
  #closed: Promise<void> | null = null;

  constructor(name: string, options: LaneQueueOptions) {
    super(name, { ...options, defaultJobOptions: { ...jobRetention, ...options.defaultJobOptions } });
    this.#redis = options.connection instanceof ProducerRedis ? options.connection : null;
    this.#waitingMax = options.waitingMax ?? Infinity;
    this.on('error', (error) => {
      if (this.#throttle.admits(error)) this.#logger.warn({ queue: name, err: error }, 'The queue has lost its Redis');
    });
  }

  /**
   * Adds a job within 50 ms.
   *
   * @throws PaymentError `ERR_QUEUE_FULL` at the bound of waiting jobs; `ERR_QUEUE_UNAVAILABLE` where Redis is away,
   *   or did not answer in time. In the last case the job may be in: give it a `jobId` that a retry has too.
   */
  async enqueue(name: string, data: Data, options: JobsOptions = {}): Promise<Job<Data, Result, string>> {
    if (this.#redis !== null && !this.#redis.usable) throw queueUnavailable(`Redis is ${this.#redis.status}`);
    return this.#bounded(async (late) => {
      if ((await this.#count()) >= this.#waitingMax) {
        throw new PaymentError(queueProblems.full, 'Too many jobs are waiting already.');
      }
      // A count that took too long has cost the caller its answer; the job must not follow.
      if (late()) throw queueUnavailable('too late to add');
      this.#waiting += 1;
      return this.add(name, data, options);
    });
  }

  /** Bounded, and never rejecting, so that a dead Redis does not hold up the end of the process. */
  override close(): Promise<void> {
    this.#closed ??= Promise.race([
      super.close().catch(() => {}),
      new Promise<void>((resolve) => {
        setTimeout(resolve, CLOSE_MS_MAX).unref();
      }),
    ]);
    return this.#closed;
  }

  /** Jobs that no worker has begun. Exact at the bound; below it at most a quarter of a second old. */
  async #count(): Promise<number> {
    if (this.#waitingMax === Infinity) return 0;
    const fresh = performance.now() - this.#countedAtMs < COUNT_FRESH_MS;
    if (!fresh || this.#waiting >= this.#waitingMax) {
      this.#waiting = await this.getJobCountByTypes('wait', 'prioritized', 'delayed');
      this.#countedAtMs = performance.now();
    }
    return this.#waiting;
  }

  async #bounded<T>(work: (late: () => boolean) => Promise<T>): Promise<T> {
    let late = false;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        this.#redis?.suspect();
        reject(queueUnavailable(`no answer within ${ENQUEUE_MS_MAX} ms`));
      }, ENQUEUE_MS_MAX);
    });
    try {
      return await Promise.race([work(() => late), limit]);
    } catch (error) {
      throw error instanceof PaymentError ? error : queueUnavailable(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function queueUnavailable(cause: unknown): PaymentError {
  return new PaymentError(queueProblems.unavailable, 'The job queue does not answer at present.', { cause });
}
