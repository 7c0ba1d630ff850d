import type { Bulkhead } from '../../../bulkhead/bulkhead';
import type { Clock } from '../../../shared/clock';
import { BackgroundLoop, type RunResult } from '../background/background-loop';
import type { OutboxStore } from './outbox.repository';

export interface OutboxPurgeOptions {
  readonly store: Pick<OutboxStore, 'purge'>;
  readonly bulkhead: Pick<Bulkhead, 'enterBackground'>;
  readonly clock: Clock;
  readonly keepHours: number;
  readonly batchMax: number;
  readonly everyMs: number;
  readonly onFailed: (error: unknown) => void;
}

const BLOCKED_MS = 5_000;
const REFUSED_MS = 1_000;

/** Removes rows that were published long ago, a small batch at a time, so that the outbox stays as small as its backlog. */
export class OutboxPurge {
  readonly #options: OutboxPurgeOptions;
  readonly #loop: BackgroundLoop;

  constructor(options: OutboxPurgeOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      clock: options.clock,
      run: () => this.purge(),
      everyMs: options.everyMs,
      blockedMs: BLOCKED_MS,
      refusedMs: REFUSED_MS,
      onFailed: options.onFailed,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** One batch. */
  purge(): Promise<RunResult> {
    const { bulkhead, store, keepHours, batchMax } = this.#options;
    return bulkhead.enterBackground(async (): Promise<RunResult> => {
      const purged = await store.purge(keepHours, batchMax);
      return purged === batchMax ? 'more' : 'idle';
    }).result;
  }
}
