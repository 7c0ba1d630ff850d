import { Logger } from '@nestjs/common';
import { type Job, type JobsOptions, Queue, type QueueOptions } from 'bullmq';
import { PaymentError } from '../../shared/problem';
import { ErrorThrottle } from './error-throttle';
import { queueProblems } from './queue.problems';
import { QueueSeats, type Seat } from './queue-seats';
import { ProducerRedis } from './redis-connections';

/** Members that a lane's queue has beside BullMQ's. */
export interface LaneQueueOptions extends QueueOptions {
  /** A producer refuses to add to a queue in which this many wait. */
  readonly waitingMax?: number;
}

/**
 * A producer's whole wait, count included. Contract 10 gives an enqueue 50 ms; the rest is for the timer, which is as
 * late as the event loop is.
 */
const ENQUEUE_MS_MAX = 45;
/** So long a count of waiting jobs is believed; what this process adds meanwhile is added to it. */
const COUNT_FRESH_MS = 250;
/** More than all processes together add while a count is believed: with so much room nobody needs a seat. */
const ROOM_FOR_ALL = 5_000;
const CLOSE_MS_MAX = 1_000;
/** How long jobs are kept when they are done; the queues are no archive. */
export const jobRetention: JobsOptions = {
  removeOnComplete: { age: 3_600, count: 1_000 },
  removeOnFail: { age: 7 * 86_400, count: 10_000 },
};

/** What stands in the queue under an id, whoever added it. */
export interface EnqueuedOnce<Data, Result> {
  readonly job: Job<Data, Result, string>;
  /** False where the id was taken: `job` is the one that took it, in whatever state it is now. */
  readonly added: boolean;
}

/** A queue whose producers always get an answer, and soon: the job is in, or it is known why not. */
export class LaneQueue<Data = unknown, Result = unknown> extends Queue<Data, Result, string, Data, Result, string> {
  readonly #redis: ProducerRedis | null;
  readonly #waitingMax: number;
  readonly #logger = new Logger(LaneQueue.name);
  readonly #throttle = new ErrorThrottle();
  #waiting = 0;
  #addedTotal = 0;
  #countedAtMs = -Infinity;
  #counting: Promise<void> | null = null;
  #closed: Promise<void> | null = null;
  /** Null where there is no bound to keep. */
  readonly #seats: QueueSeats | null;

  constructor(name: string, options: LaneQueueOptions) {
    super(name, { ...options, defaultJobOptions: { ...jobRetention, ...options.defaultJobOptions } });
    this.#redis = options.connection instanceof ProducerRedis ? options.connection : null;
    this.#waitingMax = options.waitingMax ?? Infinity;
    this.#seats =
      this.#redis === null || this.#waitingMax === Infinity
        ? null
        : new QueueSeats(this.#redis, (key) => this.toKey(key), this.#waitingMax);
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
    return this.#bounded(async (late) => {
      if (!(await this.#takeRoom())) throw queueFull();
      return this.#add(name, data, options, late);
    });
  }

  /**
   * Adds a job unless its id is taken, within 50 ms in all, and gives back what stands under the id. One that is there
   * is found at the bound of waiting jobs too. The same failures as {@link enqueue}; near the bound it is exact over all
   * processes that add in this way, at the price of one more question to Redis.
   */
  async enqueueOnce(
    name: string,
    data: Data,
    options: JobsOptions & { readonly jobId: string },
  ): Promise<EnqueuedOnce<Data, Result>> {
    const { jobId } = options;
    return this.#bounded(async (late) => {
      const seat = await this.#takeSeat(jobId);
      if (seat === 'full') throw queueFull();
      const job = seat === 'known' ? null : await this.#add(name, data, options, late, seat);
      // BullMQ answers an id that is taken as one that is new, and keeps what is there: reading it back tells which.
      const stored = await this.getJob(jobId);
      if (stored !== undefined) return { job: stored, added: stored.timestamp === job?.timestamp };
      if (job === null) throw queueUnavailable('the job has gone since');
      return { job, added: true };
    });
  }

  /**
   * The job under an id, within 50 ms; null for none.
   *
   * @throws PaymentError `ERR_QUEUE_UNAVAILABLE` where Redis is away, or did not answer in time.
   */
  async find(jobId: string): Promise<Job<Data, Result, string> | null> {
    return this.ask(async () => (await this.getJob(jobId)) ?? null);
  }

  /**
   * What `question` asks of Redis, within 50 ms.
   *
   * @throws PaymentError `ERR_QUEUE_UNAVAILABLE` where Redis is away, or did not answer in time.
   */
  ask<T>(question: () => Promise<T>): Promise<T> {
    return this.#bounded(question);
  }

  /** Whether Redis is there, once the first attempt to reach it has ended or `limitMs` are over. */
  async reached(limitMs: number): Promise<boolean> {
    return this.#redis === null || (await this.#redis.reached(limitMs));
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

  /** Its seat is kept where nobody knows whether the job is in. */
  async #add(
    name: string,
    data: Data,
    options: JobsOptions,
    late: () => boolean,
    seat: Seat | null = null,
  ): Promise<Job<Data, Result, string>> {
    // A count that took too long has cost the caller its answer; the job must not follow.
    const added = late() ? null : await this.add(name, data, options);
    if (seat !== null) this.#seats?.giveUp(seat);
    if (added === null) throw queueUnavailable('too late to add');
    return added;
  }

  /** Null where none is needed. */
  async #takeSeat(jobId: string): Promise<Seat | 'known' | 'full' | null> {
    if (this.#seats === null) return null;
    if (performance.now() - this.#countedAtMs >= COUNT_FRESH_MS) await this.#countForAll();
    if (this.#waiting + ROOM_FOR_ALL >= this.#waitingMax) return this.#seats.take(jobId);
    this.#waiting += 1;
    this.#addedTotal += 1;
    return null;
  }

  /**
   * Counts jobs that no worker has begun, exactly at the bound and below it as they were a quarter of a second ago, and
   * this one with them. One that is not added after all, or was there already, is counted until the next look.
   */
  async #takeRoom(): Promise<boolean> {
    if (this.#waitingMax === Infinity) return true;
    const fresh = performance.now() - this.#countedAtMs < COUNT_FRESH_MS;
    if (!fresh || this.#waiting >= this.#waitingMax) await this.#countForAll();
    if (this.#waiting >= this.#waitingMax) return false;
    this.#waiting += 1;
    this.#addedTotal += 1;
    return true;
  }

  /** One count for all who want it now: each of its own would overwrite what the others have added since. */
  #countForAll(): Promise<void> {
    this.#counting ??= this.#recount().finally(() => {
      this.#counting = null;
    });
    return this.#counting;
  }

  async #recount(): Promise<void> {
    const addedBefore = this.#addedTotal;
    const waiting = await this.getJobCountByTypes('wait', 'prioritized', 'delayed');
    this.#waiting = waiting + this.#addedTotal - addedBefore;
    this.#countedAtMs = performance.now();
  }

  async #bounded<T>(work: (late: () => boolean) => Promise<T>): Promise<T> {
    if (this.#redis !== null && !this.#redis.usable) throw queueUnavailable(`Redis is ${this.#redis.status}`);
    let late = false;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        late = true;
        // Where this process itself was busy, the answer lies in the socket already: it is read before this runs.
        setImmediate(() => reject(queueUnavailable(`no answer within ${ENQUEUE_MS_MAX} ms`)));
      }, ENQUEUE_MS_MAX);
    });
    try {
      return await Promise.race([work(() => late), limit]);
    } catch (error) {
      if (late) this.#redis?.suspect();
      throw error instanceof PaymentError ? error : queueUnavailable(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

function queueFull(): PaymentError {
  return new PaymentError(queueProblems.full, 'Too many jobs are waiting already.');
}

function queueUnavailable(cause: unknown): PaymentError {
  return new PaymentError(queueProblems.unavailable, 'The job queue does not answer at present.', { cause });
}
