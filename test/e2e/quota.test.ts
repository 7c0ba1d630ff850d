import { Client } from 'pg';
import { type Lane, LANES, laneTable } from '../../config/lanes';
import { ledgerItem } from '../fixtures/ledger-items';
import { order } from '../fixtures/tax-server';
import { TaxSimulator } from '../fixtures/tax-simulator';
import { type Answer, eventually, expectProblem, send } from '../support/http';
import { OPERATOR_PASSWORD, type ServerProcess, startServer } from '../support/server-process';
import { startOwnRedis } from '../support/services';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestIdentity } from '../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;

interface BulkheadShown {
  readonly in_use: number;
  readonly queued: number;
  readonly background: number;
}

/** A lane whose requests take its permits; what the ledger has instead is in quota-ledger.test.ts. */
interface FilledLane {
  readonly lane: Lane;
  readonly path: string;
  /** A card for each request, so that nothing but the lane limits them. */
  readonly bodyWith: (card: string) => object;
  /** The status of what was admitted. */
  readonly admitted: number;
  /** What the one beyond permits and queue is answered. */
  readonly expectBeyond: (answer: Answer) => void;
}

const payment = { merchant_id: 'mer_demo_0001', amount_minor: 1, currency: 'USD' };
const lanes: readonly FilledLane[] = [
  {
    lane: 'authorization',
    path: '/v1/authorizations',
    bodyWith: (card_token) => ({ ...payment, card_token }),
    admitted: 201,
    expectBeyond: (answer) => expectProblem(answer, 429, 'ERR_CARD_AUTH_BULKHEAD_SATURATED'),
  },
  {
    lane: 'fraud',
    path: '/v1/fraud/evaluations',
    bodyWith: (card_token) => ({ ...payment, country: 'US', card_token }),
    admitted: 200,
    expectBeyond: ({ status, body }) =>
      expect({ status, body }).toMatchObject({ status: 202, body: { status: 'QUEUED' } }),
  },
  {
    lane: 'tax',
    path: '/v1/tax/quotes',
    bodyWith: () => order,
    admitted: 200,
    expectBeyond: (answer) => {
      expectProblem(answer, 503, 'ERR_TAX_BULKHEAD_SATURATED');
      expect(answer.body['compensation']).toMatchObject({ source: 'CACHED_COMPENSATION' });
    },
  },
];

describe.each(lanes)(
  'test_bulkhead_quota_enforcement [MC-PO-01]: the $lane lane with the figures of the lane table',
  ({ lane, path, bodyWith, admitted, expectBeyond }) => {
    const { permits, queueMax } = laneTable[lane].bulkhead;
    const { connections, role } = laneTable[lane].datasource;
    let server: ServerProcess;
    let database: TestDatabase;
    let bearer: string;
    let cards = 0;
    const held: Promise<Answer>[] = [];

    const ask = (asked: Pick<FilledLane, 'path' | 'bodyWith'> = { path, bodyWith }): Promise<Answer> => {
      const card = `card_demo_usd_${String((cards += 1)).padStart(4, '0')}`;
      return send(`${server.url}${asked.path}`, { bearer, body: asked.bodyWith(card) });
    };
    const setFaults = (faults: object): Promise<Answer> =>
      send(`${server.url}/faults/${lane}`, { method: 'PUT', body: faults, headers: { Authorization: basic } });
    const bulkhead = async (of: string = lane): Promise<BulkheadShown> => {
      const { body: health } = await send(`${server.url}/health`);
      const views = health['lanes'] as Record<string, { bulkheads: BulkheadShown[] }>;
      return views[of]?.bulkheads[0] ?? { in_use: -1, queued: -1, background: 0 };
    };
    const holds = (in_use: number, queued: number): Promise<void> =>
      eventually(`${in_use} in use and ${queued} queued`, async () => {
        const now = await bulkhead();
        return now.in_use === in_use && now.queued === queued;
      });
    const hold = (count: number): void => {
      for (let index = 0; index < count; index += 1) held.push(ask());
    };

    beforeAll(async () => {
      database = await createTestDatabase();
      const identity = await createTestIdentity();
      bearer = await identity.bearer();
      server = await startServer({
        database,
        identity,
        environment: {
          PAYMENT_FAULTS: '1',
          TAX_PROVIDER_URL: (await TaxSimulator.start()).url,
          // What is answered "later" here is nobody else's to evaluate.
          REDIS_URL: (await startOwnRedis({ durable: false })).url,
          // The table's 100 ms and 10 s would end the waits before all of them are looked at.
          [`LANE_${lane.toUpperCase()}_QUEUE_WAIT_MS`]: '60000',
          [`LANE_${lane.toUpperCase()}_EXECUTION_MS`]: '60000',
        },
      });
      await setFaults({ hang: true });
    });

    afterAll(async () => {
      if (server.running) await server.kill('SIGKILL');
    });

    it('admits one fewer than its permits', async () => {
      hold(permits - 1);
      await holds(permits - 1, 0);
    });

    it('admits as many as its permits', async () => {
      hold(1);
      await holds(permits, 0);
    });

    // The tax lane has no queue [INV-BH-02]: its next one is refused, below.
    if (queueMax > 0) {
      it('queues the next one, and as many as the queue holds', async () => {
        hold(1);
        await holds(permits, 1);
        hold(queueMax - 1);
        await holds(permits, queueMax);
      });
    }

    it('admits none after that, and no other lane has lent it anything [INV-BH-01]', async () => {
      expectBeyond(await ask());
      await holds(permits, queueMax);
      for (const other of LANES.filter((each) => each !== lane)) {
        const { in_use, background, queued } = await bulkhead(other);
        // A lane's own workers look after what is theirs now and then.
        expect({ other, inUseByCallers: in_use - background, queued }).toEqual({ other, inUseByCallers: 0, queued: 0 });
      }
    });

    it('leaves the other lanes all of theirs', async () => {
      for (const other of lanes.filter((each) => each.lane !== lane)) {
        expect((await ask(other)).status).toBe(other.admitted);
      }
      const entry = { bearer, body: ledgerItem(), idempotencyKey: null };
      expect((await send(`${server.url}/v1/ledger/entries`, entry)).status).toBe(201);
      await holds(permits, queueMax);
    });

    it('answers all that it has accepted, on its own connections and not one more', async () => {
      await setFaults({});
      const statuses = (await Promise.all(held)).map(({ status }) => status);
      expect(statuses).toEqual(Array.from({ length: permits + queueMax }, () => admitted));
      await holds(0, 0);
      const admin = new Client({ connectionString: database.adminUrl });
      await admin.connect();
      const { rows } = await admin.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity where usename = $1 and datname = $2`,
        [role, database.name],
      );
      await admin.end();
      expect(rows).toEqual([{ n: connections }]);
    });

    it('cannot open one connection more than its pool', async () => {
      const client = new Client({ connectionString: database.laneUrl(lane) });
      await expect(client.connect()).rejects.toMatchObject({ code: '53300' });
    });
  },
);
