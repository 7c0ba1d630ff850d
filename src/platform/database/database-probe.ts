import type { Pool } from 'pg';
import type { Clock } from '../../shared/clock';
import { pingServer, type ServerAddress } from './server-ping';
import type { Statement } from './statement';

const PROBE_MS_MAX = 500;
/** An answer that recent proves that the server is alive, where all connections are busy. */
const ANSWER_FRESH_MS = 2_000;
/** Statements end before the lane's execution limit; where none has ended for longer, it is the server that hangs. */
const SILENCE_MS_MAX = 10_000;
const probeStatement: Statement = { name: 'health_probe', text: 'select 1 as one' };

export interface DatabaseProbeTarget {
  /** Whether a connection can be had without a wait. */
  slotFree(): boolean;
  run(statement: Statement): Promise<unknown>;
  /** Why nothing is open, where nothing is. */
  openFailure(): Error | null;
}

/** Judges the server without ever waiting for a slot, and without a login of its own (contract 13). */
export class DatabaseProbe {
  readonly #address: ServerAddress;
  readonly #clock: Clock;
  readonly #target: DatabaseProbeTarget;
  readonly #startedAtMs: number;
  #answeredAtMs = -Infinity;
  /** When the probe that is under way began: a server that hangs is not given a second connection to hang on. */
  #probingSinceMs: number | null = null;

  constructor(pool: Pool, clock: Clock, target: DatabaseProbeTarget) {
    this.#address = addressOf(pool);
    this.#clock = clock;
    this.#target = target;
    this.#startedAtMs = clock.now();
  }

  /** Some statement has been answered. */
  answered(): void {
    this.#answeredAtMs = this.#clock.now();
  }

  /** Null where the server answers, else why it is thought not to. */
  async check(): Promise<string | null> {
    const openFailure = this.#target.openFailure();
    if (openFailure) return `no connection can be opened: ${openFailure.message}`;
    const nowMs = this.#clock.now();
    if (this.#probingSinceMs !== null) {
      // The postmaster answers pings whatever its backends do, so it has no say while a statement hangs.
      const hangsMs = nowMs - this.#probingSinceMs;
      if (hangsMs > PROBE_MS_MAX && this.#answeredAtMs < this.#probingSinceMs) {
        return `no answer for ${Math.round(hangsMs)} ms`;
      }
    } else if (this.#target.slotFree()) {
      return this.#select();
    }
    const silentMs = nowMs - this.#answeredAtMs;
    if (silentMs <= ANSWER_FRESH_MS) return null;
    const sinceStartMs = nowMs - this.#startedAtMs;
    const overdue = Math.min(silentMs, sinceStartMs) > SILENCE_MS_MAX;
    if (overdue && !this.#target.slotFree()) return `no answer for more than ${SILENCE_MS_MAX} ms`;
    return pingServer(this.#address, PROBE_MS_MAX);
  }

  #select(): Promise<string | null> {
    this.#probingSinceMs = this.#clock.now();
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(() => resolve(`no answer within ${PROBE_MS_MAX} ms`), PROBE_MS_MAX);
      const finish = (fault: string | null): void => {
        this.#probingSinceMs = null;
        this.#clock.cancel(timer);
        resolve(fault);
      };
      this.#target.run(probeStatement).then(
        () => finish(null),
        (error: Error) => finish(error.message),
      );
    });
  }
}

/** Where the pool's connections go, whether it was given a URL or members. */
function addressOf(pool: Pool): ServerAddress {
  const { connectionString, host, port } = pool.options;
  const url = connectionString ? URL.parse(connectionString) : null;
  return {
    host: url?.searchParams.get('host') ?? (url?.hostname || host || '127.0.0.1'),
    port: Number(url?.port || port || 5432),
  };
}
