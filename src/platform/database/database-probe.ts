import type { Pool } from 'pg';
import type { Clock } from '../../shared/clock';
import { pingServer, type ServerAddress } from './server-ping';
import type { Statement } from './statement';

const PROBE_MS_MAX = 500;
/** An answer that recent proves that the server is alive, where all connections are busy. */
const ANSWER_FRESH_MS = 2_000;
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
  #answeredAtMs = -Infinity;
  /** The last probe while it is under way: a server that hangs is not given a second connection to hang on. */
  #running = false;

  constructor(pool: Pool, clock: Clock, target: DatabaseProbeTarget) {
    this.#address = addressOf(pool);
    this.#clock = clock;
    this.#target = target;
  }

  /** Some statement has been answered. */
  answered(): void {
    this.#answeredAtMs = this.#clock.now();
  }

  /** Null where the server answers, else why it is thought not to. */
  async check(): Promise<string | null> {
    const openFailure = this.#target.openFailure();
    if (openFailure) return `no connection can be opened: ${openFailure.message}`;
    if (this.#target.slotFree() && !this.#running) return this.#select();
    if (this.#clock.now() - this.#answeredAtMs <= ANSWER_FRESH_MS) return null;
    return pingServer(this.#address, PROBE_MS_MAX);
  }

  #select(): Promise<string | null> {
    this.#running = true;
    return new Promise((resolve) => {
      const timer = this.#clock.schedule(() => resolve(`no answer within ${PROBE_MS_MAX} ms`), PROBE_MS_MAX);
      const finish = (fault: string | null): void => {
        this.#running = false;
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
