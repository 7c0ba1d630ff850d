import { Redis, type RedisOptions } from 'ioredis';
import type { DependencyHealth } from '../lane-registry';

const CONNECT_MS_MAX = 2_000;
const COMMAND_MS_MAX = 200;
const HEALTH_MS_MAX = 200;
const BACK_OFF_MS_MAX = 2_000;

/** Tries again without end, each pause at most two seconds. */
function retryStrategy(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), BACK_OFF_MS_MAX);
}

/** `redis://user:password@host:port/database` in the driver's members; `rediss:` for TLS. */
export function redisAddress(url: string): RedisOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username ? { username: decodeURIComponent(username) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
    ...(pathname.length > 1 ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

/**
 * Producers fail fast: nothing is kept for a Redis that is away, and nothing is sent a second time, since a job
 * that its caller was told had failed must not turn up later.
 */
export function producerOptions(url: string): RedisOptions {
  return {
    ...redisAddress(url),
    retryStrategy,
    connectTimeout: CONNECT_MS_MAX,
    commandTimeout: COMMAND_MS_MAX,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    autoResendUnfulfilledCommands: false,
    keepAlive: 10_000,
  };
}

/** Workers wait: BullMQ demands it of blocking connections, and there is nobody whom waiting would hurt. */
export function workerOptions(url: string): RedisOptions {
  return {
    ...redisAddress(url),
    retryStrategy,
    connectTimeout: CONNECT_MS_MAX,
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    keepAlive: 10_000,
  };
}

/**
 * A lane's connection for producers, shared by all its queues in this process. It connects in the background: a
 * Redis that was never up neither stops nor delays a start (contract 2).
 */
export class ProducerRedis extends Redis {
  /** What a worker on the same Redis connects with. */
  readonly workerOptions: RedisOptions;
  #suspect = false;
  readonly #firstAttempt: Promise<unknown>;

  constructor(url: string) {
    super(producerOptions(url));
    this.workerOptions = workerOptions(url);
    // BullMQ adds listeners of its own; until it does, an unheard 'error' would end the process.
    this.on('error', () => {});
    this.on('ready', () => {
      this.#suspect = false;
    });
    this.#firstAttempt = new Promise((resolve) => {
      this.once('ready', resolve);
      this.once('close', resolve);
    });
  }

  /** Whether it is usable, once the first attempt to connect has ended or `limitMs` are over. */
  async reached(limitMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([this.#firstAttempt, late]);
    clearTimeout(timer);
    return this.usable;
  }

  /** Whether a command would be sent now. False is the whole answer: it costs no time to find out. */
  get usable(): boolean {
    return this.status === 'ready' && !this.#suspect;
  }

  /**
   * An answer is overdue. Nothing more is sent until Redis has answered a ping; where it does not, the connection is
   * cut, so that a frozen Redis does not collect jobs whose callers were told otherwise. (ioredis' `socketTimeout`
   * would do the same, but its timer outlives the connection and cuts the next one.)
   */
  suspect(): void {
    if (!this.usable) return;
    this.#suspect = true;
    this.ping().then(
      () => {
        this.#suspect = false;
      },
      () => this.disconnect(true),
    );
  }

  /** Never later than 200 ms, and never `down`: no lane stops for its Redis (contract 13). */
  async health(name = 'redis'): Promise<DependencyHealth> {
    if (!this.usable) {
      const detail = this.#suspect ? 'does not answer' : `not connected (${this.status})`;
      return { name, status: 'degraded', detail };
    }
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve(`no answer within ${HEALTH_MS_MAX} ms`), HEALTH_MS_MAX);
    });
    const answer = this.ping().then(
      () => null,
      (error: Error) => error.message,
    );
    const detail = await Promise.race([answer, late]);
    clearTimeout(timer);
    if (detail === null) return { name, status: 'up' };
    this.suspect();
    return { name, status: 'degraded', detail };
  }

  /** Last in Nest's order of closing; queues that share the connection leave it open. */
  onApplicationShutdown(): void {
    this.disconnect();
  }
}
