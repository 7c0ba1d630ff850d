import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import type { Clock, TimerHandle } from '../../shared/clock';
import { isWorthReconnecting } from './driver-errors';
import { openClient } from './pool-internals';

/** Logins at the same time: each costs both sides a key derivation, and a burst of 40 would delay all of them. */
const OPENING_AT_ONCE_MAX = 8;
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 2_000;

export interface PoolFillerOptions {
  readonly connections: number;
  readonly clock: Clock;
  /** Makes a new connection ready for use, before anybody gets it. */
  readonly prepare: (client: PoolClient) => Promise<void>;
  readonly onFailed: (error: Error) => void;
}

/**
 * Keeps a pool at its size. Only this class opens connections; callers wait for one that is open, so that a login,
 * slow or refused, is never part of a request.
 */
export class PoolFiller {
  readonly #pool: Pool;
  readonly #options: PoolFillerOptions;
  #opening = 0;
  #backOffMs = BACK_OFF_MS_MIN;
  #timer: TimerHandle | null = null;
  #stopped = false;
  /** Why the last attempt failed; null after a success. */
  lastFailure: Error | null = null;

  constructor(pool: Pool, options: PoolFillerOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  get full(): boolean {
    return this.#pool.totalCount >= this.#options.connections && this.#opening === 0;
  }

  /**
   * Opens all connections before the process reports ready. A server that is away, or a role at its connection
   * limit because a killed predecessor's backends linger, is waited for (contract 12).
   *
   * @throws the last failure after `withinMs`, or at once one that no waiting mends.
   */
  async open(withinMs: number): Promise<void> {
    const { clock, connections } = this.#options;
    const deadlineMs = clock.now() + withinMs;
    let backOffMs = BACK_OFF_MS_MIN;
    while (!this.full) {
      const room = Math.min(connections - this.#pool.totalCount, OPENING_AT_ONCE_MAX);
      const attempts = await Promise.allSettled(Array.from({ length: Math.max(room, 0) }, () => this.#openOne()));
      const failure = attempts.find((attempt) => attempt.status === 'rejected')?.reason as Error | undefined;
      if (failure === undefined && room > 0) continue;
      if (failure !== undefined) {
        if (!isWorthReconnecting(failure) || clock.now() + backOffMs > deadlineMs) throw failure;
        this.#options.onFailed(failure);
      }
      // A timer that holds the process: at boot there may be nothing else that does.
      await delay(backOffMs);
      backOffMs = Math.min(backOffMs * 2, BACK_OFF_MS_MAX);
    }
  }

  /** Opens what is missing, in the background, for as long as it takes; the pauses between failures are bounded. */
  refill(): void {
    if (this.#stopped || this.#timer !== null) return;
    const missing = this.#options.connections - this.#pool.totalCount;
    for (let count = Math.min(missing, OPENING_AT_ONCE_MAX - this.#opening); count > 0; count -= 1) {
      this.#openOne().then(
        () => this.refill(),
        (error: Error) => this.#retryLater(error),
      );
    }
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
  }

  #retryLater(error: Error): void {
    // The attempts of one burst fail together and are told once.
    if (this.#stopped || this.#timer !== null) return;
    this.#options.onFailed(error);
    this.#timer = this.#options.clock.schedule(() => {
      this.#timer = null;
      this.refill();
    }, this.#backOffMs);
    this.#backOffMs = Math.min(this.#backOffMs * 2, BACK_OFF_MS_MAX);
  }

  async #openOne(): Promise<void> {
    this.#opening += 1;
    try {
      const { client, release } = await openClient(this.#pool);
      try {
        await this.#options.prepare(client);
      } catch (error) {
        release(true);
        throw error;
      }
      release();
      this.lastFailure = null;
      this.#backOffMs = BACK_OFF_MS_MIN;
    } catch (error) {
      this.lastFailure = error as Error;
      throw error;
    } finally {
      this.#opening -= 1;
    }
  }
}
