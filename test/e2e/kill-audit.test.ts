import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Agent, request } from 'undici';
import { type ServerProcess, startServer } from '../support/server-process';
import { startOwnCluster } from '../support/services';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestIdentity, type TestIdentity } from '../support/token';

/** Enough callers to keep two groups in flight and others waiting, fewer than the lane's permits. */
const CALLERS = 40;

interface Audit {
  /** Authorization ids by key, of every request that was answered 201. */
  answered: Map<string, string>;
  /** Keys whose request ended without an answer: either fate is right, as long as the key tells. */
  unknown: Set<string>;
}

/** Callers that authorize one after another until told to stop; a lost connection is noted and gone on from. */
async function underLoad(server: () => ServerProcess, bearer: string, until: () => boolean): Promise<Audit> {
  const audit: Audit = { answered: new Map(), unknown: new Set() };
  const dispatcher = new Agent({ connections: CALLERS });
  const caller = async (index: number): Promise<void> => {
    while (!until()) {
      const key = randomUUID();
      try {
        const response = await request(`${server().url}/v1/authorizations`, {
          method: 'POST',
          headers: { Authorization: bearer, 'Idempotency-Key': key, 'Content-Type': 'application/json' },
          body: JSON.stringify({
            merchant_id: 'mer_demo_0001',
            card_token: `card_demo_usd_${String(1 + ((index * 7) % 1_000)).padStart(4, '0')}`,
            amount_minor: 100 + index,
            currency: 'USD',
          }),
          dispatcher,
        });
        const body = (await response.body.json()) as { id?: string };
        if (response.statusCode === 201 && body.id !== undefined) audit.answered.set(key, body.id);
        else audit.unknown.add(key);
      } catch {
        audit.unknown.add(key);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, index) => caller(index)));
  await dispatcher.close();
  return audit;
}

/** Every answered authorization is in the database once; nothing else is there but what a caller may still learn of. */
async function expectBooksToBalance(database: TestDatabase, audit: Audit): Promise<void> {
  const client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    const { rows: stored } = await client.query<{ id: string; n: number }>(
      'select id::text, count(*)::int as n from card_auth.authorizations group by id',
    );
    expect(stored.every(({ n }) => n === 1)).toBe(true);
    const { rows: drift } = await client.query(
      `select c.token, c.held_minor, coalesce(sum(a.amount_minor) filter (where a.response_code = '00'), 0) as holds
         from card_auth.cards c left join card_auth.authorizations a on a.card_id = c.id
        group by c.id having c.held_minor <> coalesce(sum(a.amount_minor) filter (where a.response_code = '00'), 0)`,
    );
    expect(drift).toEqual([]);
    expect(stored.length).toBeGreaterThanOrEqual(audit.answered.size);
    expect(stored.length).toBeLessThanOrEqual(audit.answered.size + audit.unknown.size);
  } finally {
    await client.end();
  }
}

/** Fewer at once than the lane has permits. */
async function inTurns<T>(items: readonly T[], visit: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await visit(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** The key of each answered request still gives the answer it gave: once in the database, and that one. */
async function expectKeysToTell(server: ServerProcess, bearer: string, audit: Audit): Promise<number> {
  let settled = 0;
  const tell = async (key: string): Promise<{ status: number; id: string | undefined }> => {
    const response = await fetch(`${server.url}/v1/authorizations?idempotency_key=${key}`, {
      headers: { Authorization: bearer },
    });
    return { status: response.status, id: ((await response.json()) as { id?: string }).id };
  };
  await inTurns([...audit.answered], async ([key, id]) => {
    expect({ key, ...(await tell(key)) }).toEqual({ key, status: 200, id });
    settled += 1;
  });
  await inTurns([...audit.unknown], async (key) => {
    expect([200, 404]).toContain((await tell(key)).status);
  });
  return settled;
}

describe('killed under load', () => {
  let database: TestDatabase;
  let identity: TestIdentity;
  let bearer: string;

  beforeAll(async () => {
    identity = await createTestIdentity();
    bearer = await identity.bearer();
  });

  it('SIGKILL of the server: every answered authorization is in the database once', async () => {
    const postgres = await startOwnCluster({ durable: true });
    database = await createTestDatabase(postgres);
    let server = await startServer({ database, identity, environment: { PAYMENT_ROLE: 'authorization' } });
    let done = false;
    const load = underLoad(
      () => server,
      bearer,
      () => done,
    );
    for (let round = 0; round < 3; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await server.kill('SIGKILL');
      // At once, on top of the killed one's lingering backends: the role's connection limit is met and waited for.
      server = await startServer({ database, identity, environment: { PAYMENT_ROLE: 'authorization' } });
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    done = true;
    const audit = await load;
    expect(audit.answered.size).toBeGreaterThan(100);
    await expectBooksToBalance(database, audit);
    expect(await expectKeysToTell(server, bearer, audit)).toBe(audit.answered.size);
  }, 180_000);

  it('SIGKILL of PostgreSQL: the lane answers 503 meanwhile, comes back by itself, and has lost no answer', async () => {
    const postgres = await startOwnCluster({ durable: true });
    database = await createTestDatabase(postgres);
    const server = await startServer({ database, identity, environment: { PAYMENT_ROLE: 'authorization' } });
    let done = false;
    const load = underLoad(
      () => server,
      bearer,
      () => done,
    );
    for (let round = 0; round < 2; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await postgres.kill();
      await postgres.restart();
    }
    await server.waitForOk('/health/ready', 30_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    done = true;
    const audit = await load;
    expect(server.running).toBe(true);
    expect(audit.answered.size).toBeGreaterThan(100);
    await expectBooksToBalance(database, audit);
    expect(await expectKeysToTell(server, bearer, audit)).toBe(audit.answered.size);
  }, 180_000);
});
