import type { JobsOptions } from 'bullmq';
import type { Bulkhead } from '../../../bulkhead/bulkhead';
import type { Clock } from '../../../shared/clock';
import { BackgroundLoop, type RunResult } from '../background/background-loop';
import type { LagWatch } from './lag-watch';
import type { LeasedEvent, OutboxStore } from './outbox.repository';
import { SETTLEMENT_JOB, type SettlementEvent } from './settlement-event';

/** The part of a queue that the relay needs: an answer within 50 ms, and a refusal at the bound of waiting jobs. */
export interface SettlementQueue {
  enqueue(name: string, data: SettlementEvent, options: JobsOptions): Promise<unknown>;
}

export interface OutboxRelayOptions {
  readonly store: OutboxStore;
  readonly queue: SettlementQueue;
  readonly bulkhead: Pick<Bulkhead, 'enterBackground'>;
  readonly clock: Clock;
  readonly lag: LagWatch;
  readonly pollEveryMs: number;
  readonly batchMax: number;
  readonly leaseMs: number;
  readonly onPublished: (count: number) => void;
  readonly onFailed: (error: unknown) => void;
}

/** Moves that are committed within this of one another are published together. */
const GATHER_MS = 25;
/** After a queue that was full or away; doubled each time in a row, up to two seconds. */
const BLOCKED_MS = 250;
const REFUSED_MS = 100;
/** Few enough that Redis has taken all of them well within the 50 ms that each of them may take. */
const ADDED_AT_ONCE_MAX = 25;

/**
 * Kept until the ledger has it: the ledger tries without end (contract 9), and a done job stays for a while so that a
 * second delivery of its id is dropped by Redis already. The ledger's own key is what makes it exactly once.
 */
export const settlementJobOptions: JobsOptions = {
  attempts: 1_000_000_000,
  backoff: { type: 'fixed', delay: 1_000, jitter: 0.5 },
  removeOnComplete: { age: 3_600, count: 10_000 },
};

/**
 * Brings the outbox to `authorization-settlement`, at least once: a row is marked after the queue has taken it. Killed
 * before that, the row is sent again under the same job id, when its lease is over. No connection is held while Redis
 * is spoken to (contract 4.8), hence the lease: three statements a batch, each of a few milliseconds.
 */
export class OutboxRelay {
  readonly #options: OutboxRelayOptions;
  readonly #loop: BackgroundLoop;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    this.#loop = new BackgroundLoop({
      clock: options.clock,
      run: () => this.relay(),
      everyMs: options.pollEveryMs,
      blockedMs: BLOCKED_MS,
      refusedMs: REFUSED_MS,
      onFailed: options.onFailed,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** There is something to publish. Cheap; called after each capture and refund. */
  wake(): void {
    this.#loop.wake(GATHER_MS);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /**
   * One batch.
   *
   * @throws BulkheadRefusedError where the lane has no permit for it, and the database's errors.
   */
  async relay(): Promise<RunResult> {
    const { bulkhead, lag } = this.#options;
    try {
      return await bulkhead.enterBackground(() => this.#batch()).result;
    } finally {
      // Also where there was no permit and no database: what was waiting then has been waiting since.
      lag.check();
    }
  }

  async #batch(): Promise<RunResult> {
    const { store, lag, batchMax, leaseMs, onPublished } = this.#options;
    const leased = await store.lease(batchMax, leaseMs);
    const published = await this.#publish(leased);
    if (published.size > 0) {
      await store.markPublished([...published]);
      onPublished(published.size);
    }
    const refused = leased.filter(({ rowId }) => !published.has(rowId));
    if (refused.length > 0) await store.release(refused.map(({ rowId }) => rowId));
    lag.observe(await store.oldestUnpublishedMs());
    if (refused.length > 0) return 'blocked';
    return leased.length === batchMax ? 'more' : 'idle';
  }

  /** @returns the rows that the queue has taken for certain. Stops at the first part of which it has not taken all. */
  async #publish(leased: readonly LeasedEvent[]): Promise<Set<string>> {
    const published = new Set<string>();
    // One alone at first: the others then find the queue's count of waiting jobs fresh, or it is known to be away.
    for (let from = 0, size = 1; from < leased.length; from += size, size = ADDED_AT_ONCE_MAX) {
      const part = leased.slice(from, from + size);
      const outcomes = await Promise.allSettled(part.map((one) => this.#add(one)));
      part.forEach(({ rowId }, index) => {
        if (outcomes[index]?.status === 'fulfilled') published.add(rowId);
      });
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed === undefined) continue;
      this.#options.onFailed(failed.reason);
      break;
    }
    return published;
  }

  #add({ event }: LeasedEvent): Promise<unknown> {
    return this.#options.queue.enqueue(SETTLEMENT_JOB, event, { ...settlementJobOptions, jobId: event.event_id });
  }
}
