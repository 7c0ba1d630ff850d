import { randomUUID } from 'node:crypto';
import type { ProducerRedis } from './redis-connections';

/**
 * A seat is given up as soon as its job is in. One whose job was never added, or never heard of, is taken away after
 * this: longer than a Redis that is frozen and comes back is likely to be, since an add that lay in its socket meanwhile
 * is carried out then.
 */
const SEAT_MS_MAX = 60_000;
/** Beside BullMQ's own keys of the queue; no job may have it as its id. */
const SEATS = 'payment-core-seats';

/** One decision in Redis for all processes, by Redis' own clock: whether a job is there, or may be added. */
const TAKE = `
local wait, prioritized, delayed, seats, job = unpack(KEYS)
local seat, waitingMax, seatMsMax = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', job) == 1 then return 'known' end
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', seats, '-inf', nowMs)
local waiting = redis.call('LLEN', wait) + redis.call('ZCARD', prioritized) + redis.call('ZCARD', delayed)
if waiting + redis.call('ZCARD', seats) >= waitingMax then return 'full' end
redis.call('ZADD', seats, nowMs + seatMsMax, seat)
redis.call('PEXPIRE', seats, seatMsMax)
return 'seated'`;

export interface Seat {
  readonly member: string;
}

/**
 * The bound of a queue's waiting jobs, kept in Redis: counting and adding are two commands (BullMQ's are scripts of its
 * own), and between them stands a seat, which counts as a job. So the bound holds exactly over all processes, whatever
 * they do at the same moment.
 */
export class QueueSeats {
  readonly #redis: ProducerRedis;
  readonly #toKey: (key: string) => string;
  readonly #waitingMax: number;
  readonly #process = randomUUID();
  #taken = 0;

  constructor(redis: ProducerRedis, toKey: (key: string) => string, waitingMax: number) {
    this.#redis = redis;
    this.#toKey = toKey;
    this.#waitingMax = waitingMax;
  }

  /**
   * A seat for a job that is about to be added. Each attempt has one of its own, also where several mean the same job.
   *
   * @returns `known` where there is a job with this id, `full` where there is none and no room.
   */
  async take(jobId: string): Promise<Seat | 'known' | 'full'> {
    const member = `${this.#process}:${(this.#taken += 1)}`;
    const keys = ['wait', 'prioritized', 'delayed', SEATS, jobId].map(this.#toKey);
    const taken = await this.#redis.eval(TAKE, keys.length, ...keys, member, this.#waitingMax, SEAT_MS_MAX);
    return taken === 'known' || taken === 'full' ? taken : { member };
  }

  /** Not waited for: where it is lost the seat runs out by itself. */
  giveUp({ member }: Seat): void {
    this.#redis.zrem(this.#toKey(SEATS), member).catch(() => {});
  }
}
