import { Logger } from '@nestjs/common';
import { type ConnectionOptions, type Processor, Worker, type WorkerOptions } from 'bullmq';
import { ErrorThrottle } from './error-throttle';
import { ProducerRedis } from './redis-connections';

/** Jobs that run get this long to end when the process stops; then their locks run out and others take them. */
const CLOSE_MS_MAX = 10_000;
/** Without a job there is only the goodbye to Redis, which a Redis that is away never answers. */
const CLOSE_IDLE_MS_MAX = 500;
const DISCONNECT_MS_MAX = 500;
/** A result that Redis did not take is told again after this; BullMQ's 15 s would leave a queue idle that is back. */
const RETRY_MS = 1_000;

/**
 * A worker with a connection that waits for Redis. `@nestjs/bullmq` gives every worker the connection of its queue,
 * which fails fast and would make the worker give up. It never starts by itself: `@Processor` options are fixed when
 * the file is read, before there are settings, so `QueueWorkers` starts it.
 */
export class LaneWorker extends Worker {
  readonly #logger = new Logger(LaneWorker.name);
  readonly #throttle = new ErrorThrottle();
  /** Jobs whose processor runs. BullMQ's events do not tell: a job that goes back to the queue ends without one. */
  readonly #running: Running;
  #closed: Promise<void> | null = null;

  constructor(name: string, processor: Processor, options: WorkerOptions) {
    const running = { jobs: 0, lastEndedAtMs: -Infinity };
    super(name, counted(processor, running), {
      runRetryDelay: RETRY_MS,
      ...options,
      connection: connectionOf(options),
      autorun: false,
    });
    this.#running = running;
    this.on('error', (error) => {
      if (this.#throttle.admits(error)) this.#logger.warn({ queue: name, err: error }, 'The worker has lost its Redis');
    });
    this.on('failed', (job, error) => {
      const fields = { queue: name, job_id: job?.id, attempts: job?.attemptsMade, err: error };
      this.#logger.warn(fields, 'A job has failed');
    });
  }

  /**
   * Begins when Redis is there. A loop that was begun before would outlive `close`: BullMQ starts the timer that
   * renews locks when its first command ends, however that ends.
   */
  override async run(): Promise<void> {
    try {
      await this.waitUntilReady();
    } catch (error) {
      if (this.#closed !== null) return;
      throw error;
    }
    if (this.#closed === null) await super.run();
  }

  /** Takes no more jobs, waits a bounded time for those that run, and leaves. */
  override close(force = false): Promise<void> {
    this.#closed ??= this.#close(force);
    return this.#closed;
  }

  async #close(force: boolean): Promise<void> {
    const ended = super.close(force).then(
      () => true,
      () => true,
    );
    const endMs = performance.now() + CLOSE_MS_MAX;
    for (;;) {
      if (await Promise.race([ended, after(CLOSE_IDLE_MS_MAX)])) return;
      if (this.#running.jobs === 0 && performance.now() - this.#running.lastEndedAtMs > CLOSE_IDLE_MS_MAX) break;
      if (performance.now() < endMs) continue;
      this.#logger.warn({ queue: this.name }, 'Jobs were still running at the end of the grace; others will take them');
      break;
    }
    this.cancelAllJobs('shutdown');
    // Cuts the connections, also those that were never up; without it they would keep trying and the process alive.
    await Promise.race([this.backend.close(true).catch(() => {}), after(DISCONNECT_MS_MAX)]);
  }
}

interface Running {
  jobs: number;
  lastEndedAtMs: number;
}

/** Three parameters: BullMQ gives a signal, fired when the process cannot wait any longer, to processors that take it. */
function counted(process: Processor, running: Running): Processor {
  return async (job, token, signal): Promise<unknown> => {
    running.jobs += 1;
    try {
      return (await process(job, token, signal)) as unknown;
    } finally {
      running.jobs -= 1;
      running.lastEndedAtMs = performance.now();
    }
  };
}

function connectionOf({ connection }: WorkerOptions): ConnectionOptions {
  return connection instanceof ProducerRedis ? (connection.workerOptions as ConnectionOptions) : connection;
}

function after(delayMs: number): Promise<false> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), delayMs).unref();
  });
}
