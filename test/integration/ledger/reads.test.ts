import { Client } from 'pg';
import { atEndOfFile } from '../../support/closers';
import { type Answer, expectProblem, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';
import { ledgerItem, ledgerItems, type SentBatchAnswer, type SentItem } from '../../fixtures/ledger-items';

let server: ServerProcess;
let identity: TestIdentity;
let database: TestDatabase;
let bearer: string;

interface Entry {
  readonly ledger_entry_id: string;
  readonly external_transaction_id: string;
  readonly account_id: string;
}

function read(path: string, given = bearer): Promise<Answer> {
  return send(`${server.url}/v1/ledger${path}`, { bearer: given });
}

function openAccount(account_id: string, currency = 'USD'): Promise<Answer> {
  return send(`${server.url}/v1/ledger/accounts`, { bearer, body: { account_id, currency }, idempotencyKey: null });
}

async function post(items: readonly SentItem[]): Promise<SentBatchAnswer> {
  const { status, body } = await send(`${server.url}/v1/ledger/batches`, {
    bearer,
    body: { items },
    idempotencyKey: null,
  });
  expect([status, body['failed_count']]).toEqual([207, 0]);
  return body as unknown as SentBatchAnswer;
}

async function page(
  accountId: string,
  cursor: string | null,
  given = bearer,
): Promise<{ entries: Entry[]; next: string | null }> {
  const suffix = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
  const { status, body } = await read(`/entries?account_id=${encodeURIComponent(accountId)}${suffix}`, given);
  expect(status).toBe(200);
  return { entries: body['entries'] as Entry[], next: body['next_cursor'] as string | null };
}

async function admin(): Promise<Client> {
  const client = new Client({ connectionString: database.adminUrl });
  client.on('error', () => undefined);
  await client.connect();
  atEndOfFile(() => client.end());
  return client;
}

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  database = await createTestDatabase();
  server = await startServer({ database, identity, environment: { PAYMENT_ROLE: 'ledger' } });
});

describe('accounts', () => {
  it('are opened once: 201, then 200, and 409 in another currency', async () => {
    const first = await openAccount('ACC-NEW/1', 'GBP');
    expect([first.status, first.body]).toEqual([
      201,
      {
        account_id: 'ACC-NEW/1',
        currency: 'GBP',
        status: 'OPEN',
        balance: '0',
        debits: '0',
        credits: '0',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
    ]);
    const again = await openAccount('ACC-NEW/1', 'GBP');
    expect([again.status, again.body]).toEqual([200, first.body]);
    expectProblem(await openAccount('ACC-NEW/1', 'USD'), 409, 'ERR_ACCOUNT_EXISTS');
    const found = await read(String(first.headers.get('location')).replace('/v1/ledger', ''));
    expect([found.status, found.body]).toEqual([200, first.body]);
  });

  it('of twenty requests at once one opens it', async () => {
    const answers: Answer[] = [];
    // No more at once than the reads have permits and places in the queue.
    for (let round = 0; round < 2; round += 1) {
      answers.push(...(await Promise.all(Array.from({ length: 10 }, () => openAccount('ACC-RACE', 'CHF')))));
    }
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(19);
  });

  it.each([
    [{ account_id: 'CLEARING-USD', currency: 'USD' }, ['/account_id']],
    [{ account_id: '', currency: 'usd' }, ['/account_id', '/currency']],
    [{ account_id: 'x'.repeat(65), currency: 'USD', note: 1 }, ['/account_id', '/note']],
  ])('%j is no account', async (body, pointers) => {
    const answer = await send(`${server.url}/v1/ledger/accounts`, { bearer, body, idempotencyKey: null });
    expectProblem(answer, 400, 'ERR_VALIDATION');
    expect((answer.body['errors'] as { pointer: string }[]).map(({ pointer }) => pointer).sort()).toEqual(pointers);
  });

  it('have a balance that is credit-positive and knows every entry that was answered', async () => {
    await openAccount('ACC-BALANCE', 'USD');
    const account = { account_id: 'ACC-BALANCE' };
    let expected = 0n;
    for (let round = 1; round <= 8; round += 1) {
      const items = ledgerItems(20, (index) => ({
        ...account,
        type: index % 3 === 0 ? 'REFUND' : 'SALE',
        amount_minor: round * 100 + index,
      }));
      await post(items);
      for (const { type, amount_minor } of items) expected += BigInt(type === 'SALE' ? amount_minor : -amount_minor);
      expect((await read('/accounts/ACC-BALANCE')).body['balance']).toBe(String(expected));
    }
    await post([ledgerItem({ ...account, type: 'REFUND', amount_minor: Number.MAX_SAFE_INTEGER })]);
    await post([ledgerItem({ ...account, type: 'REFUND', amount_minor: Number.MAX_SAFE_INTEGER })]);
    const { body } = await read('/accounts/ACC-BALANCE');
    expect(body['balance']).toBe(String(expected - 2n * BigInt(Number.MAX_SAFE_INTEGER)));
    expect(BigInt(String(body['credits'])) - BigInt(String(body['debits']))).toBe(BigInt(String(body['balance'])));
  });

  it('that are none are 404', async () => {
    for (const id of ['ACC-NOBODY', 'x'.repeat(65), '%00', '%ED%A0%80']) {
      expect((await read(`/accounts/${id}`)).status).toBe(id === '%ED%A0%80' ? 400 : 404);
    }
  });
});

describe('entries of an account', () => {
  it('come in pages, each once, and go on where the last page ended', async () => {
    await openAccount('ACC-PAGES');
    const items = ledgerItems(450, () => ({ account_id: 'ACC-PAGES' }));
    await post(items);
    const seen: Entry[] = [];
    const sizes: number[] = [];
    let cursor: string | null = null;
    for (;;) {
      const { entries, next }: { entries: Entry[]; next: string | null } = await page('ACC-PAGES', cursor);
      sizes.push(entries.length);
      seen.push(...entries);
      if (next === null) break;
      cursor = next;
    }
    expect(sizes).toEqual([200, 200, 50, 0]);
    expect(seen.map((entry) => entry.external_transaction_id).sort()).toEqual(
      items.map((item) => item.external_transaction_id).sort(),
    );
    await post([ledgerItem({ account_id: 'ACC-PAGES', external_transaction_id: 'later' })]);
    const later = await page('ACC-PAGES', cursor);
    expect(later.entries.map((entry) => entry.external_transaction_id)).toEqual(['later']);
  });

  it('have the members of a double entry', async () => {
    await openAccount('ACC-MEMBERS');
    const sale = ledgerItem({ account_id: 'ACC-MEMBERS', occurred_at: '2026-11-30T13:00:00.000001+01:00' });
    const refund = ledgerItem({ account_id: 'ACC-MEMBERS', type: 'REFUND' });
    const [first] = (await post([sale])).results;
    await post([refund]);
    const { entries } = await page('ACC-MEMBERS', null);
    expect(entries).toEqual([
      {
        ledger_entry_id: first?.ledger_entry_id,
        merchant_id: 'mer_demo_0001',
        external_transaction_id: sale.external_transaction_id,
        account_id: 'ACC-MEMBERS',
        type: 'SALE',
        debit_account_id: 'CLEARING-USD',
        credit_account_id: 'ACC-MEMBERS',
        amount_minor: 1_250,
        currency: 'USD',
        occurred_at: '2026-11-30T12:00:00.000001Z',
        recorded_at: expect.stringMatching(/^20.*Z$/) as string,
      },
      expect.objectContaining({
        type: 'REFUND',
        debit_account_id: 'ACC-MEMBERS',
        credit_account_id: 'CLEARING-USD',
      }),
    ]);
  });

  it('skip none that commits late, although others with larger ids are there before it', async () => {
    await openAccount('ACC-LATE');
    const writer = await admin();
    await writer.query('BEGIN');
    // As a flush of another process would, whose commit takes its time: its transaction number is the smaller one.
    await writer.query(
      `INSERT INTO ledger.ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
         idempotency_key, currency, merchant_id, external_transaction_id, generation)
       SELECT (SELECT base FROM ledger.ledger_numbering) + (pg_current_xact_id()::text::bigint << 21) + 1,
         5, now(), now(), account_no, clearing_no, true, sha256('late'), currency, 'mer_demo_0001', 'late',
         (SELECT generation FROM ledger.ledger_generations WHERE end_id IS NULL)
       FROM ledger.ledger_accounts WHERE account_id = 'ACC-LATE'`,
    );
    await post([ledgerItem({ account_id: 'ACC-LATE', external_transaction_id: 'early' })]);
    const before = await page('ACC-LATE', null);
    expect(before).toEqual({ entries: [], next: null });
    await writer.query('COMMIT');
    const after = await page('ACC-LATE', null);
    expect(after.entries.map((entry) => entry.external_transaction_id)).toEqual(['late', 'early']);
    // A balance has no order to keep, and counts what is there.
    expect((await read('/accounts/ACC-LATE')).body['balance']).toBe('1255');
  });

  it('reach a reader that follows while many write: each once, in the same order as afterwards', async () => {
    await openAccount('ACC-FOLLOW');
    const seen: string[] = [];
    let cursor: string | null = null;
    let writing = true;
    const follow = async (): Promise<void> => {
      for (;;) {
        const last = !writing;
        const { entries, next }: { entries: Entry[]; next: string | null } = await page('ACC-FOLLOW', cursor);
        seen.push(...entries.map(({ ledger_entry_id }) => ledger_entry_id));
        cursor = next ?? cursor;
        if (last && next === null) return;
      }
    };
    const following = follow();
    const ids: string[] = [];
    const write = async (): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        const { results } = await post(ledgerItems(7, () => ({ account_id: 'ACC-FOLLOW' })));
        ids.push(...results.map(({ ledger_entry_id }) => String(ledger_entry_id)));
      }
    };
    await Promise.all(Array.from({ length: 8 }, write));
    writing = false;
    await following;
    expect(seen).toHaveLength(8 * 15 * 7);
    expect([...seen].sort()).toEqual([...ids].sort());
    const order = seen.map((id) => BigInt(id.slice('ent_'.length)));
    expect(order.every((id, index) => index === 0 || id > (order[index - 1] as bigint))).toBe(true);
  });

  it('of other merchants are not shown, and a page goes on behind them', async () => {
    await openAccount('ACC-SHARED');
    await post(
      ledgerItems(4, (index) => ({
        account_id: 'ACC-SHARED',
        merchant_id: index % 2 === 0 ? 'mer_demo_0001' : 'mer_demo_0002',
        external_transaction_id: `shared-${index}`,
      })),
    );
    const second = await identity.bearer({ merchants: ['mer_demo_0002'] });
    const { entries, next } = await page('ACC-SHARED', null, second);
    expect(entries.map((entry) => entry.external_transaction_id).sort()).toEqual(['shared-1', 'shared-3']);
    expect(await page('ACC-SHARED', next, second)).toEqual({ entries: [], next: null });
  });

  it('of an account that there is not are none', async () => {
    expect(await page('ACC-NOBODY', null)).toEqual({ entries: [], next: null });
  });
});

describe('the entry of a merchant’s transaction', () => {
  it('is found by both names, at once', async () => {
    const item = ledgerItem({ external_transaction_id: 'order 17/a?&b' });
    const { results } = await post([item]);
    const query = `merchant_id=mer_demo_0001&external_transaction_id=${encodeURIComponent(item.external_transaction_id)}`;
    const found = await read(`/entries?${query}`);
    expect(found.status).toBe(200);
    expect((found.body['entries'] as Entry[]).map((entry) => entry.ledger_entry_id)).toEqual([
      results[0]?.ledger_entry_id,
    ]);
    const none = await read('/entries?merchant_id=mer_demo_0001&external_transaction_id=nothing');
    expect(none.body).toEqual({ entries: [], next_cursor: null });
    const other = await identity.bearer({ merchants: ['mer_demo_0002'] });
    expectProblem(await read(`/entries?${query}`, other), 404, 'ERR_NOT_FOUND');
  });

  it.each([
    ['', '/query/account_id'],
    ['?merchant_id=mer_demo_0001', '/query/external_transaction_id'],
    ['?account_id=ACC-0001&merchant_id=mer_demo_0001&external_transaction_id=1', '/query/account_id'],
    ['?account_id=CLEARING-USD', '/query/account_id'],
    ['?account_id=ACC-0001&cursor=abc', '/query/cursor'],
    ['?account_id=ACC-0001&cursor=9223372036854775808', '/query/cursor'],
    ['?account_id=ACC-0001&limit=5', '/query/limit'],
    ['?account_id=a&account_id=b', '/query/account_id'],
    ['?account_id=%00', '/query/account_id'],
  ])('%s is no question', async (query, pointer) => {
    const answer = await read(`/entries${query}`);
    expectProblem(answer, 400, 'ERR_VALIDATION');
    expect((answer.body['errors'] as { pointer: string }[]).map((fault) => fault.pointer)).toContain(pointer);
  });
});

describe('the trial balance', () => {
  it('balances, and its figures are the journal’s', async () => {
    await post(ledgerItems(30, (index) => ({ account_id: 'ACC-JPY-0001', currency: 'JPY', amount_minor: 10 + index })));
    const { status, body } = await read('/trial-balance');
    expect([status, body['balanced']]).toEqual([200, true]);
    const client = await admin();
    const { rows } = await client.query<{ currency: string; total: string }>(
      `SELECT currency, sum(amount_minor)::text AS total FROM ledger.ledger_journal GROUP BY currency ORDER BY currency`,
    );
    expect(body['currencies']).toEqual(
      rows.map(({ currency, total }) => ({ currency, debits: total, credits: total })),
    );
  });

  it('stays true under concurrent ingest, and tells of a materialised sum that is not', async () => {
    const writers = Promise.all(Array.from({ length: 4 }, () => post(ledgerItems(500))));
    for (let look = 0; look < 5; look += 1) expect((await read('/trial-balance')).body['balanced']).toBe(true);
    await writers;
    const client = await admin();
    const { rowCount } = await client.query(
      `UPDATE ledger.ledger_account_sums SET credits_minor = credits_minor + 1 WHERE account_no =
         (SELECT min(account_no) FROM ledger.ledger_account_sums)`,
    );
    expect(rowCount).toBe(1);
    expect((await read('/trial-balance')).body['balanced']).toBe(false);
  });
});

it('reads have permits of their own: ingest goes on where they are all taken', async () => {
  const blocker = await admin();
  await blocker.query('BEGIN');
  await blocker.query('LOCK TABLE ledger.ledger_account_sums IN ACCESS EXCLUSIVE MODE');
  const reads = Array.from({ length: 20 }, () => read('/accounts/ACC-0001'));
  const refused = await Promise.any(
    reads.map(async (one) => {
      const answer = await one;
      return answer.status === 429 ? answer : Promise.reject(new Error('served'));
    }),
  );
  expectProblem(refused, 429, 'ERR_LEDGER_BUFFER_FULL');
  expect((await post(ledgerItems(10))).successful_count).toBe(10);
  await blocker.query('ROLLBACK');
  const statuses = (await Promise.all(reads)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});
