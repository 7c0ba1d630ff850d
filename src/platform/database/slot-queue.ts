import type { Pool, PoolClient } from 'pg';
import { PaymentError } from '../../shared/problem';
import type { Clock } from '../../shared/clock';
import { databaseProblems } from './database.problems';
import type { Release } from './pool-internals';

export interface Slot {
  readonly client: PoolClient;
  readonly release: Release;
}

interface Waiter {
  grant(): void;
  fail(error: Error): void;
}

/**
 * Who waits for a connection, first come first served and for a bounded time. pg-pool's own queue opens connections
 * on behalf of waiters and makes them wait for the login; here a waiter gets a connection that is open, or leaves
 * the queue at once, so that nothing granted later is lost.
 */
export class SlotQueue {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  readonly #waiters = new Set<Waiter>();
  #pulsing = false;

  constructor(pool: Pool, clock: Clock, waitMsMax: number) {
    this.#pool = pool;
    this.#clock = clock;
    this.#waitMsMax = waitMsMax;
    // The event comes just before the connection is idle again.
    pool.on('release', () => {
      if (this.#waiters.size > 0 && !this.#pulsing) {
        this.#pulsing = true;
        process.nextTick(() => this.#pulse());
      }
    });
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Whether a connection is idle and nobody is before us; taking it then never waits. */
  get free(): boolean {
    return this.#waiters.size === 0 && this.#grantable();
  }

  /** @throws PaymentError `ERR_DATABASE_POOL_EXHAUSTED` when none came free in time. */
  take(): Promise<Slot> {
    if (this.free) return this.#connect();
    return new Promise<Slot>((resolve, reject) => {
      const timer = this.#clock.schedule(() => {
        this.#waiters.delete(waiter);
        reject(new PaymentError(databaseProblems.poolExhausted, 'No database connection came free in time.'));
      }, this.#waitMsMax);
      const waiter: Waiter = {
        grant: () => {
          this.#clock.cancel(timer);
          this.#connect().then(resolve, reject);
        },
        fail: (error) => {
          this.#clock.cancel(timer);
          reject(error);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  /** Sends all waiters away: nothing is open, and the server cannot be reached. */
  failAll(error: () => Error): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.fail(error());
  }

  #grantable(): boolean {
    return this.#pool.idleCount > this.#pool.waitingCount;
  }

  #pulse(): void {
    this.#pulsing = false;
    for (const waiter of this.#waiters) {
      if (!this.#grantable()) return;
      this.#waiters.delete(waiter);
      waiter.grant();
    }
  }

  #connect(): Promise<Slot> {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client, release) => {
        if (error || !client) reject(unavailable(error));
        else resolve({ client, release });
      });
    });
  }
}

export function unavailable(cause: unknown): PaymentError {
  return new PaymentError(databaseProblems.unavailable, 'The database does not answer at present.', { cause });
}
