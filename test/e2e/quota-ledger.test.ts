import { Client } from 'pg';
import { LANES, laneTable, ledgerLimits } from '../../config/lanes';
import { RawClient } from '../../src/ingress/testing/raw-client';
import { ledgerItem, ledgerItems } from '../fixtures/ledger-items';
import { order } from '../fixtures/tax-server';
import { TaxSimulator } from '../fixtures/tax-simulator';
import { atEndOfFile } from '../support/closers';
import { type Answer, eventually, expectProblem, send } from '../support/http';
import { type ServerProcess, startServer } from '../support/server-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { createTestIdentity, type TestIdentity } from '../support/token';

/*
 * The ledger's quota has three parts: its permits are flushes, its callers wait in the buffer, and its reads have permits of
 * their own (contract 3). What is in the buffer is held there by a lock on the journal; within 10 s of an item's admission
 * its fate is told, so each test lets go of the lock before.
 */

const { bulkhead, datasource } = laneTable.ledger;
const reads = laneTable.ledger.readBulkhead;
const { flushRowsMax, itemsMax, congestedFrom } = ledgerLimits;
/** One caller holds at most half of the buffer. */
const CALLER_MAX = itemsMax / 2;

interface BulkheadShown {
  name: string;
  permits: number;
  in_use: number;
  background: number;
  queued: number;
}

let server: ServerProcess;
let database: TestDatabase;
let identity: TestIdentity;
let bearers: Record<'first' | 'second' | 'third' | 'fourth', string>;
let admin: Client;

function post(count: number, caller: keyof typeof bearers): Promise<Answer> {
  const body = { items: count === 1 ? [ledgerItem()] : ledgerItems(count) };
  return send(`${server.url}/v1/ledger/batches`, { bearer: bearers[caller], body, idempotencyKey: null });
}

async function metric(series: string): Promise<number> {
  const { text } = await send(`${server.url}/metrics`);
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length));
}

const items = (): Promise<number> => metric('ledger_buffer_items');

async function shown(lane: string, name?: string): Promise<BulkheadShown> {
  const { body } = await send(`${server.url}/health`);
  const { bulkheads } = (body['lanes'] as Record<string, { bulkheads: BulkheadShown[] }>)[lane] ?? { bulkheads: [] };
  const found = name === undefined ? bulkheads[0] : bulkheads.find((each) => each.name === name);
  if (found === undefined) throw new Error(`${lane} does not show ${name ?? 'a bulkhead'}`);
  return found;
}

const inFlight = async (): Promise<number> => (await shown('ledger')).in_use;

/** Whoever needs the table does not come back until it is called. */
async function stall(table: 'ledger_journal' | 'ledger_account_sums'): Promise<() => Promise<unknown>> {
  await admin.query('BEGIN');
  await admin.query(`LOCK TABLE ledger.${table} IN ACCESS EXCLUSIVE MODE`);
  return () => admin.query('ROLLBACK');
}

/** Flushes leave and do not come back. */
const stallJournal = (): Promise<() => Promise<unknown>> => stall('ledger_journal');
/** Reads of accounts likewise; flushes touch no sums. */
const stallSums = (): Promise<() => Promise<unknown>> => stall('ledger_account_sums');

async function expectAllCommitted(answers: readonly Promise<Answer>[]): Promise<void> {
  for (const { status, body } of await Promise.all(answers)) {
    expect([status, body['failed_count']]).toEqual([207, 0]);
  }
  await eventually('all permits are home', async () => (await inFlight()) === 0 && (await items()) === 0);
}

beforeAll(async () => {
  database = await createTestDatabase();
  identity = await createTestIdentity();
  server = await startServer({
    database,
    identity,
    environment: { TAX_PROVIDER_URL: (await TaxSimulator.start()).url },
  });
  bearers = {
    first: await identity.bearer({ subject: 'first' }),
    second: await identity.bearer({ subject: 'second' }),
    third: await identity.bearer({ subject: 'third' }),
    fourth: await identity.bearer({ subject: 'fourth' }),
  };
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  atEndOfFile(() => admin.end());
});

describe('test_bulkhead_quota_enforcement [MC-PO-01]: the flushes of the ledger lane with the figures of the lane table', () => {
  it('one fewer than its permits are in flight, and as many, and never one more', async () => {
    const release = await stallJournal();
    const held: Promise<Answer>[] = [];
    for (let flushes = 1; flushes <= bulkhead.permits; flushes += 1) {
      held.push(post(flushRowsMax, flushes % 2 === 0 ? 'first' : 'second'));
      await eventually(`${flushes} flushes are in flight`, async () => (await inFlight()) === flushes);
    }
    held.push(post(flushRowsMax, 'third'));
    const total = (bulkhead.permits + 1) * flushRowsMax;
    await eventually('the next batch waits in the buffer', async () => (await items()) === total);
    expect(await inFlight()).toBe(bulkhead.permits);
    await release();
    await expectAllCommitted(held);
  });
});

describe('test_bulkhead_quota_enforcement [MC-PO-01]: the buffer in front of them', () => {
  it('refuses a request whole that would pass its limit by one item, and takes one that leaves a place', async () => {
    const release = await stallJournal();
    // Up to the last item before nothing more is read.
    const held = [post(CALLER_MAX - 1_000, 'first'), post(congestedFrom - 1 - (CALLER_MAX - 1_000), 'second')];
    await eventually('the buffer is nearly full', async () => (await items()) === congestedFrom - 1);
    const rest = itemsMax - (congestedFrom - 1);
    expectProblem(await post(rest + 1, 'third'), 429, 'ERR_LEDGER_BUFFER_FULL');
    held.push(post(rest - 1, 'third'));
    await eventually('one item fewer than its limit', async () => (await items()) === itemsMax - 1);
    await release();
    await expectAllCommitted(held);
  });

  it('is full with its last item; no other lane has lent it anything, and they have all of theirs [INV-BH-01]', async () => {
    const release = await stallJournal();
    const held = [post(CALLER_MAX - 1_000, 'first'), post(congestedFrom - 1 - (CALLER_MAX - 1_000), 'second')];
    await eventually('the buffer is nearly full', async () => (await items()) === congestedFrom - 1);
    held.push(post(itemsMax - (congestedFrom - 1), 'third'));
    await eventually('the buffer is full', async () => (await items()) === itemsMax);
    expectProblem(await post(1, 'fourth'), 429, 'ERR_LEDGER_BUFFER_FULL');
    expect([await items(), await inFlight()]).toEqual([itemsMax, bulkhead.permits]);
    for (const other of LANES.filter((lane) => lane !== 'ledger')) {
      const { in_use, background, queued } = await shown(other);
      // A lane's own workers look after what is theirs now and then.
      expect({ other, inUseByCallers: in_use - background, queued }).toEqual({ other, inUseByCallers: 0, queued: 0 });
    }
    expect(await othersServe()).toEqual([201, 200, 200]);
    await release();
    await expectAllCommitted(held);
  });

  it('has its own connections, and cannot open one more', async () => {
    const { rows } = await admin.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = $1 AND datname = $2',
      [datasource.role, database.name],
    );
    expect(rows).toEqual([{ n: datasource.connections }]);
    const client = new Client({ connectionString: database.laneUrl('ledger') });
    await expect(client.connect()).rejects.toMatchObject({ code: '53300' });
  });
});

describe('test_bulkhead_quota_enforcement [MC-PO-01]: the reads of the ledger lane', () => {
  const read = (): Promise<Answer> => send(`${server.url}/v1/ledger/accounts/ACC-0001`, { bearer: bearers.first });
  const rejected = (reason: string): Promise<number> =>
    metric(`bulkhead_rejection_total{bulkhead="${reads.name}",reason="${reason}"}`);
  const held: Promise<Answer>[] = [];
  let release: () => Promise<unknown>;

  it('one fewer than their permits, and as many', async () => {
    release = await stallSums();
    for (let count = 1; count <= reads.permits; count += 1) {
      held.push(read());
      await eventually(`${count} in use`, async () => (await shown('ledger', reads.name)).in_use === count);
    }
    expect(await shown('ledger', reads.name)).toMatchObject({ permits: reads.permits, queued: 0 });
  });

  it('after that as many wait as their queue holds, and the next one is refused at once', async () => {
    // The queue's wait is 100 ms, so all must come in one moment: in one piece, on one connection.
    const client = new RawClient(Number(new URL(server.url).port));
    const request = [
      'GET /v1/ledger/accounts/ACC-0001 HTTP/1.1',
      'host: test',
      `authorization: ${bearers.first}`,
      '',
      '',
    ].join('\r\n');
    client.send(request.repeat(reads.queueMax + 1));
    for (let count = 0; count <= reads.queueMax; count += 1) {
      const { status, headers } = await client.answer();
      expect([status, headers['retry-after']]).toEqual([429, '1']);
    }
    client.end();
    expect([await rejected('queue_timeout'), await rejected('full')]).toEqual([reads.queueMax, 1]);
    expect(await shown('ledger', reads.name)).toMatchObject({ in_use: reads.permits, queued: 0 });
  });

  it('take nothing from the flushes: a batch is written meanwhile', async () => {
    const { status, body } = await post(flushRowsMax, 'second');
    expect([status, body['successful_count']]).toEqual([207, flushRowsMax]);
    expect((await shown('ledger', reads.name)).in_use).toBe(reads.permits);
  });

  it('and all that were admitted are answered', async () => {
    await release();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    await eventually('all are home', async () => (await shown('ledger', reads.name)).in_use === 0);
  });
});

/** One request of each other lane. */
async function othersServe(): Promise<number[]> {
  const bearer = bearers.fourth;
  const payment = {
    merchant_id: 'mer_demo_0001',
    card_token: 'card_demo_usd_0001',
    amount_minor: 1,
    currency: 'USD',
  };
  const answers = await Promise.all([
    send(`${server.url}/v1/authorizations`, { bearer, body: payment }),
    send(`${server.url}/v1/fraud/evaluations`, { bearer, body: { ...payment, country: 'US' } }),
    send(`${server.url}/v1/tax/quotes`, { bearer, body: order }),
  ]);
  return answers.map(({ status }) => status);
}
