import { Queue } from 'bullmq';
import type { Client } from 'pg';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import { atEndOfFile } from '../../support/closers';
import { type Answer, eventually, send } from '../../support/http';
import { OPERATOR_PASSWORD, type ServerProcess, startServer } from '../../support/server-process';
import type { TestRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
export const EVALUATIONS = '/v1/fraud/evaluations';
export const PERMITS = 4;
export const QUEUE = 1;

export const payment = {
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0001',
  amount_minor: 1_250,
  currency: 'USD',
  country: 'US',
};

/** The QUEUED body and what goes with it (contract 10). */
export function expectQueued(answer: Answer): string {
  const id = String(answer.body['id']);
  expect({ status: answer.status, body: answer.body }).toEqual({
    status: 202,
    body: { id: expect.stringMatching(/^evl_/), status: 'QUEUED', score: null, decision: 'REVIEW', reasons: [] },
  });
  expect(answer.headers.get('Location')).toBe(`${EVALUATIONS}/${id}`);
  expect(answer.headers.get('Retry-After')).toBeNull();
  return id;
}

const UNKNOWN_MAX = 4;

/** A fraud process with few permits, its database and its Redis, and what a caller and an operator do to it. */
export class OverflowDriver {
  server!: ServerProcess;
  bearer!: string;
  #cards = 0;
  #queue: Queue | null = null;

  private constructor(
    readonly database: TestDatabase,
    readonly identity: TestIdentity,
    readonly owner: Client,
    readonly redis: TestRedis,
  ) {}

  static async open(redis: TestRedis): Promise<OverflowDriver> {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const driver = new OverflowDriver(database, identity, await database.ownerClient('fraud'), redis);
    driver.bearer = await identity.bearer();
    atEndOfFile(() => driver.closeQueue());
    return driver;
  }

  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    this.server = await startServer({
      database: this.database,
      identity: this.identity,
      environment: {
        PAYMENT_ROLE: 'fraud',
        PAYMENT_FAULTS: '1',
        REDIS_URL: this.redis.url,
        LANE_FRAUD_PERMITS: String(PERMITS),
        LANE_FRAUD_QUEUE: String(QUEUE),
        LANE_FRAUD_QUEUE_WAIT_MS: '60000',
        LANE_FRAUD_EXECUTION_MS: '60000',
        LANE_FRAUD_POOL: '5',
        ...environment,
      },
    });
  }

  /** A second process on the same database and Redis, as a replica is. */
  async another(): Promise<OverflowDriver> {
    const other = new OverflowDriver(this.database, this.identity, this.owner, this.redis);
    other.bearer = this.bearer;
    other.#cards = 500;
    await other.start();
    return other;
  }

  /** One payment; each with a card of its own unless the test says which. */
  /**
   * Brings a request of a full lane onto the overflow: where nobody heard within 50 ms whether it is there, as on a busy
   * machine, the same request again finds out.
   *
   * @returns its id.
   */
  async queued(idempotencyKey: string, more: Parameters<OverflowDriver['evaluate']>[1] = {}): Promise<string> {
    let answer = await this.evaluate(idempotencyKey, more);
    for (let tries = 1; answer.status === 503 && tries < UNKNOWN_MAX; tries += 1) {
      expect(answer.body['detail']).toMatch(/is not known/);
      answer = await this.evaluate(idempotencyKey, more);
    }
    return expectQueued(answer);
  }

  evaluate(idempotencyKey: string, more: { body?: object; bearer?: string; headers?: Record<string, string> } = {}) {
    this.#cards = (this.#cards % 1_000) + 1;
    const card_token = `card_demo_usd_${String(this.#cards).padStart(4, '0')}`;
    return send(`${this.server.url}${EVALUATIONS}`, {
      bearer: more.bearer ?? this.bearer,
      idempotencyKey,
      body: { ...payment, card_token, ...more.body },
      ...(more.headers && { headers: more.headers }),
    });
  }

  read(id: string, bearer = this.bearer): Promise<Answer> {
    return send(`${this.server.url}${EVALUATIONS}/${id}`, { bearer });
  }

  async setFaults(faults: object): Promise<void> {
    const url = `${this.server.url}/faults/fraud`;
    const { status } = await send(url, { method: 'PUT', body: faults, headers: { Authorization: basic } });
    expect(status).toBe(200);
  }

  async bulkhead(): Promise<{ in_use: number; queued: number }> {
    const { body } = await send(`${this.server.url}/health`);
    const lanes = body['lanes'] as Record<string, { bulkheads: { in_use: number; queued: number }[] }>;
    return lanes['fraud']?.bulkheads[0] ?? { in_use: -1, queued: -1 };
  }

  /** @returns what filled it: answered when the faults are lifted. */
  async fillLane(prefix: string): Promise<Promise<Answer>[]> {
    await this.setFaults({ hang: true });
    const held = Array.from({ length: PERMITS + QUEUE }, (_, index) => this.evaluate(`${prefix}-held-${index}`));
    await eventually('the lane is full', async () => {
      const { in_use, queued } = await this.bulkhead();
      return in_use === PERMITS && queued === QUEUE;
    });
    return held;
  }

  async metric(line: string): Promise<number> {
    const { text } = await send(`${this.server.url}/metrics`);
    const found = text.split('\n').find((each) => each.startsWith(`${line} `));
    return found === undefined ? NaN : Number(found.slice(line.length + 1));
  }

  rejections(reason: string): Promise<number> {
    return this.metric(`bulkhead_rejection_total{bulkhead="bulkhead_fraud_eval",reason="${reason}"}`);
  }

  async stored(): Promise<number> {
    const { rows } = await this.owner.query<{ n: number }>('SELECT count(*)::int AS n FROM evaluations');
    return rows[0]?.n ?? -1;
  }

  /** The queue as it lies in Redis, on a connection of the test's own. */
  queue(): Queue {
    if (this.#queue === null) {
      this.#queue = new Queue('fraud-overflow', { prefix: lanePrefix('fraud'), connection: { url: this.redis.url } });
      this.#queue.on('error', () => undefined);
    }
    return this.#queue;
  }

  /** Before its Redis goes for good: one that never answers again would not let it go. */
  async closeQueue(): Promise<void> {
    await this.#queue?.close();
    this.#queue = null;
  }

  /** Nothing waits, nothing runs, and nothing was given up. */
  async expectQueueDrained(limitMs = 40_000): Promise<void> {
    const queue = this.queue();
    const left = (): Promise<number> => queue.getJobCountByTypes('wait', 'active', 'delayed');
    await eventually('the queue is empty', async () => (await left()) === 0, limitMs);
    expect(await queue.getJobCountByTypes('failed')).toBe(0);
  }

  /** Each id has its one result, and the database has as many as were asked for. */
  async expectOneResultEach(ids: readonly string[], limitMs = 30_000): Promise<void> {
    for (const id of ids) {
      await eventually(
        `${id} is completed`,
        async () => {
          const { status, body } = await this.read(id);
          return status === 200 && body['status'] === 'COMPLETED';
        },
        limitMs,
      );
    }
    const { rows } = await this.owner.query<{ doubled: number }>(
      `SELECT count(*)::int AS doubled FROM (SELECT id FROM evaluations GROUP BY id HAVING count(*) > 1) AS twice`,
    );
    expect(rows).toEqual([{ doubled: 0 }]);
  }
}
