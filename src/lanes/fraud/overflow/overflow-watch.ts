import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { LaneQueue } from '../../../platform/queue/lane-queue';
import type { Clock, TimerHandle } from '../../../shared/clock';
import type { FraudOverflow } from './fraud-overflow';
import type { OverflowJob, OverflowResult } from './overflow-job';
import type { OverflowObserver } from './overflow.metrics';

const LOOK_EVERY_MS = 1_000;
/** A start waits so long for Redis, and no longer: one that is frozen stops nobody. */
const CONNECT_MS_MAX = 1_000;
/** Ids asked for at once: each page is one short command, and one short turn of this process. */
const PAGE_IDS = 1_000;
/** Twice what may wait; a list that somebody made longer is read so far. */
const PAGES_MAX = 20;

const LISTS = ['wait', 'delayed', 'active'] as const;

export type WatchedQueue = Pick<
  LaneQueue<OverflowJob, OverflowResult>,
  'ask' | 'reached' | 'getJob' | 'getJobCountByTypes' | 'getRanges'
>;

export interface OverflowWatchOptions {
  readonly queue: WatchedQueue;
  readonly overflow: Pick<FraudOverflow, 'remember'>;
  readonly observer: Pick<OverflowObserver, 'onLooked'>;
  readonly clock: Clock;
  /** The clock that the times of jobs are read from. */
  readonly wallNow: () => number;
}

/**
 * Looks at the overflow once a second: how much waits, for how long, and under which ids. What a process did not put
 * there itself, because it was restarted since or another one did, it knows from here; so a key that waits is answered 202
 * without a request that is new ever asking Redis (contract 10).
 */
export class OverflowWatch implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #options: OverflowWatchOptions;
  #timer: TimerHandle | null = null;
  #looking: Promise<void> | null = null;
  #stopped = false;

  constructor(options: OverflowWatchOptions) {
    this.#options = options;
  }

  /** Before the process listens, so that it never serves without knowing what waits, unless nobody can tell. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#options.queue.reached(CONNECT_MS_MAX);
    // Each question of a look has 50 ms, and one without an answer is its last.
    this.#looking = this.#lookAgainAndAgain();
    await this.#looking;
  }

  /** No look begins after this; one under way is waited for. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    await this.#looking;
  }

  /** Never rejects: Redis may be away for as long as it likes. */
  async look(): Promise<void> {
    const { queue, observer, wallNow } = this.#options;
    try {
      const waiting = await queue.ask(() => queue.getJobCountByTypes('wait', 'prioritized', 'delayed'));
      const heads = await this.#readIds();
      const oldestAtMs = await this.#oldestOf(heads);
      observer.onLooked(waiting, oldestAtMs === null ? 0 : Math.max(0, wallNow() - oldestAtMs));
    } catch {
      observer.onLooked(null, null);
    }
  }

  async #lookAgainAndAgain(): Promise<void> {
    await this.look();
    if (this.#stopped) return;
    this.#timer = this.#options.clock.schedule(() => {
      this.#looking = this.#lookAgainAndAgain();
    }, LOOK_EVERY_MS);
  }

  /** @returns the id at the old end of each list that has any. */
  async #readIds(): Promise<string[]> {
    const { queue, overflow } = this.#options;
    const heads: string[] = [];
    for (const list of LISTS) {
      let last: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const from = page * PAGE_IDS;
        // Newest first: what is added meanwhile moves the others on, and so none is passed over.
        const ids = await queue.ask(() => queue.getRanges([list], from, from + PAGE_IDS - 1, false));
        overflow.remember(ids);
        last = ids.at(-1) ?? last;
        if (ids.length < PAGE_IDS) break;
      }
      if (last !== undefined) heads.push(last);
    }
    return heads;
  }

  /** When the oldest of these jobs was accepted, on the wall clock; null where all of them have gone. */
  async #oldestOf(ids: readonly string[]): Promise<number | null> {
    const { queue } = this.#options;
    const jobs = await queue.ask(() => Promise.all(ids.map((id) => queue.getJob(id))));
    const times = jobs.flatMap((job) => (job === undefined ? [] : [job.timestamp]));
    return times.length === 0 ? null : Math.min(...times);
  }
}
