import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Agent, request } from 'undici';
import { type ServerProcess, startServer } from '../../support/server-process';
import { startOwnCluster, type TestPostgres } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';
import { ledgerItems, type SentBatchAnswer, type SentItem } from '../../fixtures/ledger-items';

const CALLERS = 16;
const BATCH_ITEMS = 100;

interface Audit {
  /** Entry ids by external transaction id, as they were answered. */
  readonly committed: Map<string, string>;
  /** Answered as duplicates: what was committed without its answer having arrived. */
  duplicates: number;
  resent: number;
}

/** One caller: a batch after the other, each sent again until every item of it is answered COMMITTED (contract 11). */
async function caller(audit: Audit, url: () => string, bearer: string, until: () => boolean): Promise<void> {
  const dispatcher = new Agent({ connections: 1 });
  while (!until()) {
    let open: readonly SentItem[] = ledgerItems(BATCH_ITEMS);
    while (open.length > 0) {
      const answer = await tryOnce(dispatcher, url(), bearer, open);
      if (answer === null) {
        audit.resent += 1;
        await sleep(20);
        continue;
      }
      for (const { index, status, ledger_entry_id, duplicate, error } of answer.results) {
        if (status === 'COMMITTED') {
          audit.committed.set(open[index]?.external_transaction_id ?? '', String(ledger_entry_id));
          if (duplicate === true) audit.duplicates += 1;
        } else {
          // Only what is worth another try: everything sent is valid.
          expect([error?.code, error?.retryable]).toEqual([error?.code, true]);
        }
      }
      open = open.filter(({ external_transaction_id }) => !audit.committed.has(external_transaction_id));
    }
  }
  await dispatcher.close();
}

/** The whole answer, or null where the connection broke or the server had no room. */
async function tryOnce(
  dispatcher: Agent,
  url: string,
  bearer: string,
  items: readonly SentItem[],
): Promise<SentBatchAnswer | null> {
  try {
    const response = await request(`${url}/v1/ledger/batches`, {
      method: 'POST',
      headers: { authorization: bearer, 'content-type': 'application/json' },
      body: JSON.stringify({ items }),
      dispatcher,
    });
    const body = (await response.body.json()) as SentBatchAnswer;
    return response.statusCode === 207 ? body : null;
  } catch {
    return null;
  }
}

async function expectJournalToBe(database: TestDatabase, audit: Audit): Promise<void> {
  const client = new Client({ connectionString: database.adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string; external_transaction_id: string }>(
      `SELECT 'ent_' || id AS id, external_transaction_id FROM ledger.ledger_journal`,
    );
    const { rows: turns } = await client.query('SELECT FROM ledger.ledger_generations');
    expect(turns.length).toBeGreaterThan(5);
    // Each item exactly once, under the id that was answered; and nothing that was not sent.
    expect(rows).toHaveLength(audit.committed.size);
    const wrong = rows.filter((row) => audit.committed.get(row.external_transaction_id) !== row.id);
    expect(wrong).toEqual([]);
  } finally {
    await client.end();
  }
}

async function expectBalanced(server: ServerProcess, bearer: string): Promise<void> {
  const response = await fetch(`${server.url}/v1/ledger/trial-balance`, { headers: { authorization: bearer } });
  expect((await response.json()) as object).toMatchObject({ balanced: true });
}

/** Turns the journal's generations ten times a second, as another process of the lane would. */
function turnGenerations(database: TestDatabase): { stop(): Promise<void> } {
  let stopped = false;
  const turnOnce = async (): Promise<void> => {
    const client = new Client({ connectionString: database.adminUrl });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT ledger.ledger_prepare_generation()');
      await client.query('SELECT ledger.ledger_roll_generation(1)');
    } catch {
      // The server is being killed, or flushes left no gap in which to turn.
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const turning = (async () => {
    while (!stopped) {
      await turnOnce();
      await sleep(100);
    }
  })();
  return {
    stop: () => {
      stopped = true;
      return turning;
    },
  };
}

describe('killed under load, while the journal turns from generation to generation', () => {
  let identity: TestIdentity;
  let bearers: string[];
  let postgres: TestPostgres;
  let database: TestDatabase;
  const start = (): Promise<ServerProcess> =>
    startServer({ database, identity, environment: { PAYMENT_ROLE: 'ledger' } });

  beforeAll(async () => {
    identity = await createTestIdentity();
    bearers = await Promise.all(
      Array.from({ length: CALLERS }, (_, index) => identity.bearer({ subject: `caller-${index % 4}` })),
    );
  });

  async function underLoad(url: () => string, work: () => Promise<void>): Promise<Audit> {
    const audit: Audit = { committed: new Map(), duplicates: 0, resent: 0 };
    const turning = turnGenerations(database);
    let done = false;
    const callers = bearers.map((bearer) => caller(audit, url, bearer, () => done));
    try {
      await work();
    } finally {
      done = true;
    }
    await Promise.all(callers);
    await turning.stop();
    return audit;
  }

  it('SIGKILL of the server: resent until answered, each item is in the journal exactly once', async () => {
    postgres = await startOwnCluster({ durable: true });
    database = await createTestDatabase(postgres);
    let server = await start();
    const audit = await underLoad(
      () => server.url,
      async () => {
        for (let round = 0; round < 3; round += 1) {
          await sleep(1_000);
          await server.kill('SIGKILL');
          server = await start();
        }
        await sleep(500);
      },
    );
    expect(audit.committed.size).toBeGreaterThan(5_000);
    expect(audit.resent).toBeGreaterThan(0);
    await expectJournalToBe(database, audit);
    await expectBalanced(server, bearers[0] as string);
    await server.kill();
  }, 120_000);

  it('SIGKILL of PostgreSQL: the lane comes back by itself, and each item is in the journal exactly once', async () => {
    postgres = await startOwnCluster({ durable: true });
    database = await createTestDatabase(postgres);
    const server = await start();
    const audit = await underLoad(
      () => server.url,
      async () => {
        for (let round = 0; round < 2; round += 1) {
          await sleep(1_000);
          await postgres.kill();
          await postgres.restart();
        }
        await server.waitForOk('/health/ready', 30_000);
        await sleep(1_000);
      },
    );
    expect([server.running, audit.committed.size > 5_000]).toEqual([true, true]);
    await expectJournalToBe(database, audit);
    await expectBalanced(server, bearers[0] as string);
    await server.kill();
  }, 120_000);
});
