import { Client } from 'pg';
import { laneTable } from '../../config/lanes';
import { type Answer, eventually, expectProblem, send } from '../support/http';
import { OPERATOR_PASSWORD, type ServerProcess, startServer } from '../support/server-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestIdentity } from '../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
const { permits, queueMax } = laneTable.authorization.bulkhead;
const { connections } = laneTable.authorization.datasource;

describe('test_bulkhead_quota_enforcement [MC-PO-01]: the authorization lane with the figures of the lane table', () => {
  let server: ServerProcess;
  let database: TestDatabase;
  let bearer: string;
  const held: Promise<Answer>[] = [];

  const authorize = (): Promise<Answer> =>
    send(`${server.url}/v1/authorizations`, {
      bearer,
      body: { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1, currency: 'USD' },
    });
  const setFaults = (faults: object): Promise<Answer> =>
    send(`${server.url}/faults/authorization`, { method: 'PUT', body: faults, headers: { Authorization: basic } });
  const bulkhead = async (lane = 'authorization'): Promise<{ in_use: number; queued: number }> => {
    const { body } = await send(`${server.url}/health`);
    const lanes = body['lanes'] as Record<string, { bulkheads: { in_use: number; queued: number }[] }>;
    return lanes[lane]?.bulkheads[0] ?? { in_use: -1, queued: -1 };
  };
  const holds = (in_use: number, queued: number): Promise<void> =>
    eventually(`${in_use} in use and ${queued} queued`, async () => {
      const now = await bulkhead();
      return now.in_use === in_use && now.queued === queued;
    });
  const hold = (count: number): void => {
    for (let index = 0; index < count; index += 1) held.push(authorize());
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
        // The table's 100 ms and 10 s would end the waits before all of them are looked at.
        LANE_AUTHORIZATION_QUEUE_WAIT_MS: '60000',
        LANE_AUTHORIZATION_EXECUTION_MS: '60000',
      },
    });
    await setFaults({ hang: true });
  });

  it('admits one fewer than its permits', async () => {
    hold(permits - 1);
    await holds(permits - 1, 0);
  });

  it('admits as many as its permits', async () => {
    hold(1);
    await holds(permits, 0);
  });

  it('queues the next one, and as many as the queue holds', async () => {
    hold(1);
    await holds(permits, 1);
    hold(queueMax - 1);
    await holds(permits, queueMax);
  });

  it('refuses the one after that, and no other lane has lent it anything [INV-BH-01]', async () => {
    expectProblem(await authorize(), 429, 'ERR_CARD_AUTH_BULKHEAD_SATURATED');
    await holds(permits, queueMax);
    for (const lane of ['fraud', 'tax', 'ledger']) expect(await bulkhead(lane)).toMatchObject({ in_use: 0, queued: 0 });
  });

  it('answers all that it has accepted, on its own connections and not one more', async () => {
    await setFaults({});
    // One card takes eight at a time; the others are told to come again, which is not what this test is about.
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    expect(statuses).toHaveLength(permits + queueMax);
    expect(statuses.filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await holds(0, 0);
    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    const { rows } = await admin.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where usename = 'card_auth_app' and datname = $1`,
      [database.name],
    );
    await admin.end();
    expect(rows).toEqual([{ n: connections }]);
  });

  it('cannot open one connection more than its pool', async () => {
    const client = new Client({ connectionString: database.laneUrl('authorization') });
    await expect(client.connect()).rejects.toMatchObject({ code: '53300' });
  });
});
