import { Client } from 'pg';
import { atEndOfFile } from '../../support/closers';
import { type Answer, expectProblem, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';
import { expectDense, ledgerItem, ledgerItems, type SentBatchAnswer, writtenWith } from '../../fixtures/ledger-items';

let server: ServerProcess;
let identity: TestIdentity;
let database: TestDatabase;
let bearer: string;
let admin: Client;

function post(path: string, body: unknown, given = bearer, headers: Record<string, string> = {}): Promise<Answer> {
  return send(`${server.url}/v1/ledger${path}`, { bearer: given, body, headers, idempotencyKey: null, method: 'POST' });
}

async function batch(items: readonly unknown[], given = bearer): Promise<SentBatchAnswer> {
  const answer = await post('/batches', { items }, given);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([207, 'application/json; charset=utf-8']);
  return answer.body as unknown as SentBatchAnswer;
}

async function journalRows(): Promise<number> {
  const { rows } = await admin.query<{ n: number }>('SELECT count(*)::integer AS n FROM ledger.ledger_journal');
  return rows[0]?.n ?? 0;
}

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  database = await createTestDatabase();
  server = await startServer({ database, identity, environment: { PAYMENT_ROLE: 'ledger' } });
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  atEndOfFile(() => admin.end());
});

describe('a batch', () => {
  it('is answered 207, with the members of the contract and no more', async () => {
    const [first, second] = ledgerItems(2, (index) => ({ type: index === 0 ? 'SALE' : 'REFUND' }));
    const answer = await batch([first, second]);
    expect(answer).toEqual({
      batch_id: expect.stringMatching(/^btc_[0-9A-HJKMNP-TV-Z]{26}$/) as string,
      total_items: 2,
      successful_count: 2,
      failed_count: 0,
      duplicate_count: 0,
      results: [
        {
          index: 0,
          item_id: first?.item_id,
          status: 'COMMITTED',
          ledger_entry_id: expect.stringMatching(/^ent_\d+$/) as string,
        },
        {
          index: 1,
          item_id: second?.item_id,
          status: 'COMMITTED',
          ledger_entry_id: expect.stringMatching(/^ent_\d+$/) as string,
        },
      ],
    });
  });

  it('sent again adds nothing, and is answered the first ids', async () => {
    const items = ledgerItems(40);
    const first = await batch(items);
    const rows = await journalRows();
    const again = await batch([...items].reverse());
    expect([again.duplicate_count, again.successful_count, await journalRows()]).toEqual([40, 40, rows]);
    expect(again.results.map(({ ledger_entry_id }) => ledger_entry_id)).toEqual(
      first.results.map(({ ledger_entry_id }) => ledger_entry_id).reverse(),
    );
    expect(again.batch_id).not.toBe(first.batch_id);
  });

  it('498 good and 2 bad: 498 are committed, and 2 tell why not', async () => {
    const items: unknown[] = ledgerItems(500);
    items[17] = ledgerItem({ account_id: 'ACC-CORRUPT' });
    items[301] = ledgerItem({ amount_minor: -5 });
    const rows = await journalRows();
    const answer = await batch(items);
    expectDense(answer, items as object[]);
    expect([answer.successful_count, answer.failed_count, await journalRows()]).toEqual([498, 2, rows + 498]);
    expect([17, 301].map((index) => answer.results[index]?.error)).toEqual([
      { code: 'ERR_INVALID_ACCOUNT_ID', pointer: '/account_id', detail: expect.any(String), retryable: false },
      { code: 'ERR_INVALID_AMOUNT', pointer: '/amount_minor', detail: expect.any(String), retryable: false },
    ]);
  });

  it('faults of state have their code, and a pointer to the member', async () => {
    const known = ledgerItem();
    await batch([known]);
    const items = [
      ledgerItem({ account_id: 'ACC-NOBODY' }),
      ledgerItem({ account_id: 'CLEARING-USD' }),
      ledgerItem({ account_id: 'ACC-CLOSED' }),
      ledgerItem({ account_id: 'ACC-EUR-0001' }),
      ledgerItem({ account_id: 'ACC-EUR-0001', currency: 'EUR' }),
      { ...known, amount_minor: 1_251 },
      // The key decides before the account does (contract 11's order).
      { ...known, account_id: 'CLEARING-USD' },
      { ...known, occurred_at: '2026-11-30T13:00:00+01:00' },
    ];
    const answer = await batch(items);
    expectDense(answer, items);
    expect(answer.results.map(({ error, duplicate }) => [error?.code, error?.pointer, duplicate])).toEqual([
      ['ERR_INVALID_ACCOUNT_ID', '/account_id', undefined],
      ['ERR_INVALID_ACCOUNT_ID', '/account_id', undefined],
      ['ERR_ACCOUNT_CLOSED', '/account_id', undefined],
      ['ERR_CURRENCY_MISMATCH', '/currency', undefined],
      [undefined, undefined, undefined],
      ['ERR_IDEMPOTENCY_CONFLICT', undefined, undefined],
      ['ERR_IDEMPOTENCY_CONFLICT', undefined, undefined],
      [undefined, undefined, true],
    ]);
  });

  it('a merchant outside the claim fails alone', async () => {
    const mine = await identity.bearer({ merchants: ['mer_demo_0002'] });
    const items = [ledgerItem(), ledgerItem({ merchant_id: 'mer_demo_0002' })];
    const answer = await batch(items, mine);
    expect(answer.results.map(({ status, error }) => [status, error?.code])).toEqual([
      ['FAILED', 'ERR_FORBIDDEN'],
      ['COMMITTED', undefined],
    ]);
  });

  it('what a parser would not show fails alone as well', async () => {
    const texts = [
      JSON.stringify(ledgerItem()),
      writtenWith('amount_minor', '1.0'),
      writtenWith('amount_minor', '1e2'),
      writtenWith('amount_minor', '9007199254740993'),
      JSON.stringify(ledgerItem()).replace('{', '{"amount_minor":1,'),
      JSON.stringify(ledgerItem()).replace('{', '{"__proto__":{"type":"SALE"},'),
      writtenWith('external_transaction_id', '"b\\u0000"'),
      writtenWith('external_transaction_id', '"b\\ud800"'),
      writtenWith('amount_minor', '9007199254740991'),
    ];
    const { status, body } = await post('/batches', `{"items":[${texts.join(',')}]}`);
    expect(status).toBe(207);
    const { results } = body as unknown as SentBatchAnswer;
    expect(results.map(({ error }) => error?.code)).toEqual([
      undefined,
      'ERR_INVALID_AMOUNT',
      'ERR_INVALID_AMOUNT',
      'ERR_INVALID_AMOUNT',
      'ERR_MALFORMED_ITEM',
      'ERR_MALFORMED_ITEM',
      'ERR_INVALID_TEXT',
      'ERR_INVALID_TEXT',
      undefined,
    ]);
  });

  it.each([
    ['no JSON', '{"items":[', 400, 'ERR_MALFORMED_JSON'],
    ['nothing', '', 400, 'ERR_MALFORMED_JSON'],
    ['no envelope', '[]', 400, 'ERR_VALIDATION'],
    ['no items', '{}', 400, 'ERR_VALIDATION'],
    ['an empty list', '{"items":[]}', 400, 'ERR_VALIDATION'],
    ['a member too many', '{"items":[1],"note":2}', 400, 'ERR_VALIDATION'],
    ['items twice', '{"items":[1],"items":[2]}', 400, 'ERR_VALIDATION'],
  ])('whose envelope is %s is refused whole', async (_, text, status, code) => {
    expectProblem(await post('/batches', text), status, code);
  });

  it('has 5,000 items at most, and says so', async () => {
    const rows = await journalRows();
    for (const count of [5_001, 10_001]) {
      const answer = await post('/batches', { items: ledgerItems(count) });
      expectProblem(answer, 413, 'ERR_PAYLOAD_TOO_LARGE');
      expect(answer.body['limit_items']).toBe(5_000);
    }
    expect(await journalRows()).toBe(rows);
    const items = ledgerItems(5_000);
    const answer = await batch(items);
    expectDense(answer, items);
    expect([answer.successful_count, await journalRows()]).toEqual([5_000, rows + 5_000]);
  });

  it('has 8 MiB at most, and an entry 64 KiB: what is longer is 413 with the limit', async () => {
    const padded = (bytes: number): string => {
      const text = JSON.stringify({ items: [ledgerItem()] });
      return text.slice(0, -1) + ' '.repeat(bytes - text.length) + '}';
    };
    const longest = 8 * 1024 * 1024;
    expect((await post('/batches', padded(longest))).status).toBe(207);
    const tooLong = await post('/batches', padded(longest + 1));
    expectProblem(tooLong, 413, 'ERR_PAYLOAD_TOO_LARGE');
    expect(tooLong.body['limit_bytes']).toBe(longest);
    const entry = await post('/entries', ' '.repeat(64 * 1024) + JSON.stringify(ledgerItem()));
    expectProblem(entry, 413, 'ERR_PAYLOAD_TOO_LARGE');
  });

  it('is JSON in UTF-8, from a caller with the scope', async () => {
    const text = JSON.stringify({ items: [ledgerItem()] });
    expectProblem(
      await post('/batches', text, bearer, { 'content-type': 'text/plain' }),
      415,
      'ERR_UNSUPPORTED_MEDIA_TYPE',
    );
    expectProblem(await post('/batches', text, ''), 401, 'ERR_UNAUTHENTICATED');
    expectProblem(await post('/batches', text, await identity.bearer({ scope: 'tax' })), 403, 'ERR_FORBIDDEN');
    const wrong = await fetch(`${server.url}/v1/ledger/batches`, { headers: { authorization: bearer } });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the door for one item', () => {
  it('is answered 201, and 200 where it is in the journal', async () => {
    const item = ledgerItem();
    const first = await post('/entries', item);
    expect([first.status, first.body]).toEqual([
      201,
      { item_id: item.item_id, status: 'COMMITTED', ledger_entry_id: expect.stringMatching(/^ent_\d+$/) as string },
    ]);
    const again = await post('/entries', { ...item, item_id: 'another try' });
    expect([again.status, again.body]).toEqual([200, { ...first.body, item_id: 'another try', duplicate: true }]);
  });

  it('two at once under one key: one row, one answer for both', async () => {
    const item = ledgerItem();
    const answers = await Promise.all([post('/entries', item), post('/entries', item)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(new Set(answers.map(({ body }) => body['ledger_entry_id'])).size).toBe(1);
  });

  it('two at once with different payloads: one is written, the other refused', async () => {
    const item = ledgerItem();
    const answers = await Promise.all([post('/entries', item), post('/entries', { ...item, amount_minor: 99 })]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422]);
    expectProblem(answers.find(({ status }) => status === 422) as Answer, 422, 'ERR_IDEMPOTENCY_CONFLICT');
  });

  it.each([
    ['ERR_MALFORMED_ITEM', JSON.stringify({ ...ledgerItem(), note: 1 }), '/note'],
    ['ERR_MALFORMED_ITEM', '[]', ''],
    ['ERR_INVALID_TEXT', writtenWith('item_id', '"a\\u0000"'), '/item_id'],
    ['ERR_INVALID_MERCHANT_ID', JSON.stringify(ledgerItem({ merchant_id: 'a:b' })), '/merchant_id'],
    ['ERR_INVALID_AMOUNT', writtenWith('amount_minor', '1.0'), '/amount_minor'],
    ['ERR_INVALID_TIMESTAMP', JSON.stringify(ledgerItem({ occurred_at: 'now' })), '/occurred_at'],
    ['ERR_INVALID_ACCOUNT_ID', JSON.stringify(ledgerItem({ account_id: 'ACC-NOBODY' })), '/account_id'],
    ['ERR_ACCOUNT_CLOSED', JSON.stringify(ledgerItem({ account_id: 'ACC-CLOSED' })), '/account_id'],
    ['ERR_CURRENCY_MISMATCH', JSON.stringify(ledgerItem({ currency: 'EUR' })), '/currency'],
  ])('422 %s', async (code, text, pointer) => {
    const answer = await post('/entries', text);
    expectProblem(answer, 422, code);
    expect(answer.body).toMatchObject({ lane: 'ledger', retryable: false, errors: [{ pointer }] });
  });

  it('403 for a merchant outside the claim, 400 for what is no JSON', async () => {
    const other = await identity.bearer({ merchants: ['mer_demo_0002'] });
    expectProblem(await post('/entries', ledgerItem(), other), 403, 'ERR_FORBIDDEN');
    expectProblem(await post('/entries', '{"item_id":'), 400, 'ERR_MALFORMED_JSON');
  });
});

it('counts what it answered', async () => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const value = (line: string): number =>
    Number(
      metrics
        .split('\n')
        .find((one) => one.startsWith(line))
        ?.split(' ')[1],
    );
  const faults = value('ledger_items_total{outcome="failed"}');
  await batch([1, 2, 3]);
  const after = await (await fetch(`${server.url}/metrics`)).text();
  expect(after).toContain(`ledger_items_total{outcome="failed"} ${faults + 3}`);
  expect(value('ledger_buffer_items')).toBe(0);
});
