import type { Clock, TimerHandle } from '../../../shared/clock';
import type { EstimateRepository, InsertedEstimates } from './estimate.repository';
import type { EstimateRing } from './estimate-ring';

export interface EstimateWriterOptions {
  readonly ring: EstimateRing;
  readonly repository: Pick<EstimateRepository, 'insert'>;
  readonly clock: Clock;
  readonly flushEveryMs: number;
  readonly batchMax: number;
  readonly onWritten: (inserted: InsertedEstimates) => void;
  readonly onFailed: (error: unknown) => void;
}

/**
 * Brings served estimates from memory into the database, a batch at a time. It takes no permit: it has work exactly while
 * the lane is full, when a worker gets none, and its one statement at a time is one of five connections that nobody uses
 * while the provider hangs. A batch that fails stays in the ring and is tried again.
 */
export class EstimateWriter {
  readonly #options: EstimateWriterOptions;
  #timer: TimerHandle | null = null;
  #writing: Promise<void> | null = null;
  #stopped = false;

  constructor(options: EstimateWriterOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopped || this.#timer !== null) return;
    this.#timer = this.#options.clock.schedule(() => {
      this.#timer = null;
      void this.flush().then(() => this.start());
    }, this.#options.flushEveryMs);
  }

  /** Writes what is in the ring. Never rejects; ends with the first batch that cannot be written. */
  flush(): Promise<void> {
    this.#writing ??= this.#flush().finally(() => (this.#writing = null));
    return this.#writing;
  }

  /** The last flush: what was served until now is written, where the database takes it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
    await this.flush();
  }

  async #flush(): Promise<void> {
    const { ring, repository, batchMax, onWritten, onFailed } = this.#options;
    for (let batch = ring.oldest(batchMax); batch.length > 0; batch = ring.oldest(batchMax)) {
      try {
        const inserted = await repository.insert(batch);
        ring.remove(batch);
        onWritten(inserted);
      } catch (error) {
        onFailed(error);
        return;
      }
    }
  }
}
