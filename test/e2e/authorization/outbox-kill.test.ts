import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import type { Client } from 'pg';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import { eventually, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { startOwnRedis, type TestRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

let identity: TestIdentity;
let bearer: string;
let database: TestDatabase;
let owner: Client;
let redis: TestRedis;

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  database = await createTestDatabase();
  owner = await database.ownerClient('authorization');
  redis = await startOwnRedis({ durable: true });
});

function start(): Promise<ServerProcess> {
  return startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'authorization', LANE_AUTHORIZATION_POOL: '10', REDIS_URL: redis.url },
  });
}

/** Captures one unit after another from some callers until the process is gone. */
async function captureUntilKilled(server: ServerProcess, answered: Set<string>): Promise<void> {
  const caller = async (n: number): Promise<void> => {
    try {
      const authorization = await send(`${server.url}/v1/authorizations`, {
        bearer,
        idempotencyKey: randomUUID(),
        body: {
          merchant_id: 'mer_demo_0001',
          card_token: `card_demo_usd_${String(n + 1).padStart(4, '0')}`,
          amount_minor: 10_000,
          currency: 'USD',
        },
      });
      for (;;) {
        const capture = await send(`${server.url}/v1/authorizations/${String(authorization.body['id'])}/captures`, {
          bearer,
          body: { amount_minor: 1 },
        });
        if (capture.status === 201) answered.add(String(capture.body['id']));
      }
    } catch {
      // The connection is gone, and with it the process.
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => caller(n)));
}

it('SIGKILL at any moment loses no capture on its way to the queue, and doubles none', async () => {
  const answered = new Set<string>();
  for (let round = 0; round < 6; round += 1) {
    const server = await start();
    const load = captureUntilKilled(server, answered);
    // In the middle of things, however fast this machine is: so many captures after the start, and some milliseconds.
    const enough = answered.size + 15 + 7 * round;
    await eventually('captures are under way', () => Promise.resolve(answered.size >= enough), 20_000);
    await sleep(5 * round);
    await server.kill('SIGKILL');
    await load;
  }
  // Nothing is captured any more; whoever comes next publishes what the killed ones left.
  const last = await start();
  await eventually(
    'the outbox is empty',
    async () => {
      const { rows } = await owner.query(`SELECT FROM outbox WHERE published_at IS NULL LIMIT 1`);
      return rows.length === 0;
    },
    20_000,
  );
  const queue = new Queue('authorization-settlement', {
    prefix: lanePrefix('authorization'),
    connection: { url: redis.url },
  });
  try {
    const queued = (await queue.getJobs(['wait'])).map(({ id }) => id ?? '');
    const { rows } = await owner.query<{ count: string }>(`SELECT count(*) FROM captures`);
    expect(new Set(queued).size).toBe(queued.length);
    expect(queued.length).toBe(Number(rows[0]?.count));
    expect([...answered].filter((id) => !queued.includes(id))).toEqual([]);
  } finally {
    await queue.close();
  }
  expect(await last.terminate()).toBe(0);
}, 240_000);
