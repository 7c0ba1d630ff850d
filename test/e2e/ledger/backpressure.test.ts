import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { RawClient } from '../../../src/ingress/testing/raw-client';
import { atEndOfFile } from '../../support/closers';
import { type Answer, eventually, expectProblem, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { startOwnCluster, type TestPostgres } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';
import { ledgerItem, ledgerItems, type SentBatchAnswer, type SentItem } from '../../fixtures/ledger-items';

/** More than the kernels of both sides take by themselves. */
const BODY_BYTES = 8 * 1024 * 1024;

let server: ServerProcess;
let identity: TestIdentity;
let postgres: TestPostgres;
let database: TestDatabase;
let bearers: Record<'first' | 'second' | 'third', string>;
let admin: Client;

function post(items: readonly SentItem[], bearer: string): Promise<Answer> {
  return send(`${server.url}/v1/ledger/batches`, { bearer, body: { items }, idempotencyKey: null });
}

async function bufferedItems(): Promise<number> {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^ledger_buffer_items (\d+)$/m.exec(metrics)?.[1]);
}

/** Nothing gets into the journal until it is called; what is sent meanwhile stays in the buffer. */
async function stallJournal(): Promise<() => Promise<unknown>> {
  await admin.query('BEGIN');
  await admin.query('LOCK TABLE ledger.ledger_journal IN ACCESS EXCLUSIVE MODE');
  return () => admin.query('ROLLBACK');
}

/** Sends batches under each name; resolves when the buffer holds them. */
async function fill(counts: Partial<Record<'first' | 'second', number>>): Promise<Promise<Answer[]>> {
  const answers = Object.entries(counts).map(([name, count]) =>
    post(ledgerItems(count), bearers[name as 'first' | 'second']),
  );
  const before = await bufferedItems();
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (before < total) await eventually('the buffer is filled', async () => (await bufferedItems()) >= total, 5_000);
  return Promise.all(answers);
}

async function expectAllCommitted(answers: readonly Answer[]): Promise<void> {
  for (const { status, body } of answers) expect([status, body['failed_count']]).toEqual([207, 0]);
  await eventually('the buffer is empty', async () => (await bufferedItems()) === 0);
}

async function journalHas(items: readonly SentItem[]): Promise<number> {
  const { rows } = await admin.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM ledger.ledger_journal WHERE external_transaction_id = ANY ($1::text[])',
    [items.map((item) => item.external_transaction_id)],
  );
  return rows[0]?.n ?? 0;
}

/** A batch as long as may be, its items at the end, sent on a connection of its own. */
function sendRaw(items: readonly SentItem[], bearer: string): RawClient {
  const client = new RawClient(Number(new URL(server.url).port));
  const text = JSON.stringify({ items });
  client.head('POST /v1/ledger/batches', {
    authorization: bearer,
    'content-type': 'application/json',
    'content-length': BODY_BYTES,
  });
  client.send(' '.repeat(BODY_BYTES - text.length) + text);
  return client;
}

/** Bytes of what was sent that still wait on the sender's side. */
function unsent({ socket }: RawClient): number {
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize: number } };
  return handle?.writeQueueSize ?? 0;
}

beforeAll(async () => {
  identity = await createTestIdentity();
  postgres = await startOwnCluster({ durable: false });
  database = await createTestDatabase(postgres);
  server = await startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'ledger' },
    // As the supervisor starts a lane's process: what is said of its memory holds for that.
    nodeArguments: ['--max-old-space-size=192', '--max-semi-space-size=8'],
  });
  bearers = {
    first: await identity.bearer({ subject: 'first' }),
    second: await identity.bearer({ subject: 'second' }),
    third: await identity.bearer({ subject: 'third' }),
  };
  admin = new Client({ connectionString: database.adminUrl });
  admin.on('error', () => undefined);
  await admin.connect();
  atEndOfFile(() => admin.end());
});

describe('while the journal stands still', () => {
  it('below 8,000 items a sender is read, and its items join the others', async () => {
    const release = await stallJournal();
    const filled = fill({ first: 4_000, second: 3_999 });
    await eventually('7,999 wait', async () => (await bufferedItems()) === 7_999);
    const items = ledgerItems(10);
    const client = sendRaw(items, bearers.third);
    await eventually('its items are there', async () => (await bufferedItems()) === 8_009);
    expect(unsent(client)).toBe(0);
    await release();
    expect((await client.answer()).status).toBe(207);
    await expectAllCommitted(await filled);
    client.end();
  });

  it('from 8,000 items on a sender’s writes stop; below 6,000 they go on, and nothing is lost', async () => {
    const release = await stallJournal();
    const filled = fill({ first: 4_000, second: 4_000 });
    await eventually('8,000 wait', async () => (await bufferedItems()) === 8_000);
    const items = ledgerItems(10);
    const client = sendRaw(items, bearers.third);
    // Whatever the kernels take has been taken when nothing moves any more.
    let left = -1;
    while (left !== unsent(client)) {
      left = unsent(client);
      await sleep(100);
    }
    expect(left).toBeGreaterThan(1_000_000);
    expect([await bufferedItems(), client.closed]).toEqual([8_000, false]);
    await release();
    const answer = await client.answer();
    expect([answer.status, (answer.json() as unknown as SentBatchAnswer).successful_count]).toEqual([207, 10]);
    await expectAllCommitted(await filled);
    expect([unsent(client), await journalHas(items)]).toEqual([0, 10]);
    client.end();
  });

  it('a request lies unread for a second at most, then it is 429 with nothing of it admitted', async () => {
    const release = await stallJournal();
    const filled = fill({ first: 4_000, second: 4_000 });
    await eventually('8,000 wait', async () => (await bufferedItems()) === 8_000);
    const items = ledgerItems(10);
    const startedAt = performance.now();
    const client = sendRaw(items, bearers.third);
    const answer = await client.answer();
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '1']);
    expect(answer.json()).toMatchObject({ code: 'ERR_LEDGER_BUFFER_FULL', retry: { after_seconds: 1 } });
    await release();
    await expectAllCommitted(await filled);
    expect(await journalHas(items)).toBe(0);
    client.end();
  });

  it('a request that does not fit whole is 429 with nothing admitted; one that just fits is taken', async () => {
    const release = await stallJournal();
    const filled = fill({ first: 4_000, second: 3_500 });
    await eventually('7,500 wait', async () => (await bufferedItems()) === 7_500);
    const tooMany = ledgerItems(2_501);
    expectProblem(await post(tooMany, bearers.third), 429, 'ERR_LEDGER_BUFFER_FULL');
    expect(await bufferedItems()).toBe(7_500);
    const fitting = ledgerItems(2_500);
    const taken = post(fitting, bearers.third);
    await eventually('10,000 wait', async () => (await bufferedItems()) === 10_000);
    // Now nobody waits any more: the room is full, and not merely short.
    expectProblem(
      await post([ledgerItem()], await identity.bearer({ subject: 'fourth' })),
      429,
      'ERR_LEDGER_BUFFER_FULL',
    );
    const health = (await (await fetch(`${server.url}/health`)).json()) as { lanes: Record<string, unknown> };
    expect(JSON.stringify(health)).toContain('SATURATED');
    await release();
    await expectAllCommitted([...(await filled), await taken]);
    expect([await journalHas(tooMany), await journalHas(fitting)]).toEqual([0, 2_500]);
  });

  it('one caller holds half of the room, and does not keep the others out', async () => {
    const release = await stallJournal();
    const filled = fill({ first: 5_000 });
    await eventually('5,000 wait', async () => (await bufferedItems()) === 5_000);
    expectProblem(await post([ledgerItem()], bearers.first), 429, 'ERR_LEDGER_BUFFER_FULL');
    const other = post(ledgerItems(100), bearers.second);
    await eventually('another’s items join', async () => (await bufferedItems()) === 5_100);
    await release();
    await expectAllCommitted([...(await filled), await other]);
  });
});

it('a frozen database fills the buffer, which sheds, stays small, and drains by itself', async () => {
  postgres.freeze();
  const sent: { item: SentItem[]; answer: Promise<Answer> }[] = [];
  const statuses: number[] = [];
  try {
    for (let round = 0; round < 60; round += 1) {
      const item = ledgerItems(500);
      const answer = post(item, [bearers.first, bearers.second, bearers.third][round % 3] as string);
      sent.push({ item, answer });
      void answer.then(({ status }) => statuses.push(status));
      await sleep(25);
      expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
    }
    await eventually('it sheds', () => Promise.resolve(statuses.filter((status) => status === 429).length >= 40));
    expect(await bufferedItems()).toBeLessThanOrEqual(10_000);
    expect(await bufferedItems()).toBeGreaterThan(5_000);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  } finally {
    postgres.thaw();
  }
  await eventually('the buffer is empty', async () => (await bufferedItems()) === 0, 20_000);
  let committed = 0;
  for (const { item, answer } of sent) {
    const { status, body } = await answer;
    const expected = status === 207 ? Number(body['successful_count']) : 0;
    if (status !== 207) expectProblem(await answer, 429, 'ERR_LEDGER_BUFFER_FULL');
    expect(await journalHas(item)).toBe(expected);
    committed += expected;
  }
  expect(committed).toBeGreaterThan(5_000);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const rss = Number(/^process_resident_memory_bytes (\d+)/m.exec(metrics)?.[1]);
  expect(rss).toBeLessThan(300 * 1024 * 1024);
  expect((await post(ledgerItems(100), bearers.first)).body['successful_count']).toBe(100);
}, 60_000);
