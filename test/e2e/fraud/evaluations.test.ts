import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { type Answer, expectProblem, send } from '../../support/http';
import { workerFolder } from '../../support/run-folder';
import { type ServerProcess, startServer } from '../../support/server-process';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

const PATH = '/v1/fraud/evaluations';
const KEY = 'fingerprint-key-of-the-tests-'.repeat(2);

let database: TestDatabase;
let identity: TestIdentity;
let owner: Client;
let server: ServerProcess;
let bearer: string;

function start(environment: Readonly<Record<string, string>> = {}, readyPath?: null): Promise<ServerProcess> {
  return startServer({
    database,
    identity,
    environment: { PAYMENT_ROLE: 'fraud', LANE_FRAUD_POOL: '5', FRAUD_FINGERPRINT_KEY: KEY, ...environment },
    ...(readyPath === null && { readyPath }),
  });
}

function payment(changes: object = {}): Record<string, unknown> {
  return {
    merchant_id: 'mer_demo_0001',
    card_token: `card_test_${randomUUID()}`,
    amount_minor: 1_250,
    currency: 'USD',
    country: 'US',
    ...changes,
  };
}

interface Sent {
  readonly key?: string;
  readonly bearer?: string;
  readonly at?: ServerProcess;
}

function evaluate(
  body: unknown,
  { key = randomUUID(), bearer: given = bearer, at = server }: Sent = {},
): Promise<Answer> {
  return send(`${at.url}${PATH}`, { bearer: given, idempotencyKey: key, body });
}

function read(id: unknown, given = bearer, at = server): Promise<Answer> {
  return send(`${at.url}${PATH}/${String(id)}`, { bearer: given });
}

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  database = await createTestDatabase();
  owner = await database.ownerClient('fraud');
  server = await start({ LOG_LEVEL: 'debug' });
});

describe('an evaluation', () => {
  it('is answered 200 with score, decision and reasons, and can be read', async () => {
    const answer = await evaluate(payment());
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^evl_[0-7][0-9A-Z]{25}$/) as string,
      status: 'COMPLETED',
      score: 10,
      decision: 'APPROVE',
      reasons: [
        { rule: 'card_new', points: 10, text: 'The card is used for the first time', facts: { card_new: true } },
      ],
    });
    expect(answer.headers.get('location')).toBe(`${PATH}/${String(answer.body['id'])}`);
    expect(answer.headers.get('idempotency-replayed')).toBeNull();
    const again = await read(answer.body['id']);
    expect([again.status, again.text]).toEqual([200, answer.text]);
  });

  it.each([
    [{ country: 'HM' }, ['country_high_risk', 'card_new'], 'REVIEW'],
    [{ country: 'BV' }, ['country_medium_risk', 'card_new'], 'APPROVE'],
    [{ merchant_id: 'mer_demo_0050' }, ['merchant_high_risk', 'card_new'], 'REVIEW'],
    [{ merchant_id: 'mer_demo_0049' }, ['card_new', 'merchant_medium_risk'], 'APPROVE'],
    [{ merchant_id: 'mer_nobody' }, ['merchant_unknown', 'card_new'], 'APPROVE'],
    [
      { merchant_id: 'mer_demo_0050', country: 'HM' },
      ['country_high_risk', 'merchant_high_risk', 'card_new'],
      'DECLINE',
    ],
  ])('of %j has the reasons %j and advises %s', async (changes, rules, decision) => {
    const { status, body } = await evaluate(payment(changes));
    const reasons = body['reasons'] as { rule: string; points: number }[];
    expect([status, reasons.map(({ rule }) => rule), body['decision']]).toEqual([200, rules, decision]);
    expect(body['score']).toBe(reasons.reduce((sum, { points }) => sum + points, 0));
  });

  it('hears of velocity at the sixth attempt in five minutes, and of an amount that is five times the usual', async () => {
    const card_token = `card_test_${randomUUID()}`;
    const rulesOf = async (changes: object): Promise<string[]> => {
      const { body } = await evaluate(payment({ card_token, ...changes }));
      return (body['reasons'] as { rule: string }[]).map(({ rule }) => rule);
    };
    for (let n = 0; n < 5; n += 1) expect(await rulesOf({ amount_minor: 100 })).not.toContain('card_velocity_5m');
    expect(await rulesOf({ amount_minor: 499 })).toContain('card_velocity_5m');
    expect(await rulesOf({ amount_minor: 10_000 })).toEqual(
      expect.arrayContaining(['amount_unusual', 'amount_very_unusual']),
    );
  });

  it('is replayed under its key byte for byte, also by another process; another payload is refused', async () => {
    const key = randomUUID();
    const body = payment({ merchant_id: 'mer_demo_0050', country: 'HM', occurred_at: new Date().toISOString() });
    const first = await evaluate(body, { key });
    const other = await start();
    for (const at of [server, other]) {
      const again = await evaluate(body, { key, at });
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([200, first.text, 'true']);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expectProblem(await evaluate({ ...body, amount_minor: 1 }, { key, at }), 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
      expectProblem(await evaluate({ ...body, card_token: 'card_x' }, { key, at }), 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    }
    // At once, to both: one result.
    for (let round = 0; round < 10; round += 1) {
      const [sharedKey, sharedBody] = [randomUUID(), payment()];
      const answers = await Promise.all(
        [server, other, server, other].map((at) => evaluate(sharedBody, { key: sharedKey, at })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    }
    await other.terminate();
  });

  it('outlives a kill: its key has the same result afterwards', async () => {
    const doomed = await start();
    const [key, body] = [randomUUID(), payment()];
    const first = await evaluate(body, { key, at: doomed });
    await doomed.kill('SIGKILL');
    const again = await evaluate(body, { key });
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
  });

  it('is its caller’s alone', async () => {
    const key = randomUUID();
    const body = payment();
    const first = await evaluate(body, { key });
    const kiosk = await identity.bearer({ subject: 'kiosk' });
    expectProblem(await read(first.body['id'], kiosk), 404, 'ERR_NOT_FOUND');
    const others = await evaluate(body, { key, bearer: kiosk });
    expect([others.status, others.body['id'] === first.body['id']]).toEqual([200, false]);
    const narrowed = await identity.bearer({ merchants: ['mer_demo_0002'] });
    expectProblem(await read(first.body['id'], narrowed), 404, 'ERR_NOT_FOUND');
    expectProblem(await evaluate(body, { bearer: narrowed }), 403, 'ERR_FORBIDDEN');
    const id = String(first.body['id']);
    for (const wrong of [
      'evl_1',
      'x',
      id.toLowerCase(),
      id.replace('evl_', 'aut_'),
      `${id}%00`,
      `evl_${'0'.repeat(26)}`,
    ]) {
      expectProblem(await read(wrong), 404, 'ERR_NOT_FOUND');
    }
  });
});

describe('refusals', () => {
  it('name every fault of a body', async () => {
    const answer = await evaluate({
      ...payment({ amount_minor: 0, currency: 'usd', country: 'UK', occurred_at: '2026-11-30', note: 1 }),
      merchant_id: undefined,
    });
    expectProblem(answer, 400, 'ERR_VALIDATION');
    const errors = answer.body['errors'] as { pointer: string }[];
    expect(errors.map(({ pointer }) => pointer).sort()).toEqual([
      '/amount_minor',
      '/country',
      '/currency',
      '/merchant_id',
      '/note',
      '/occurred_at',
    ]);
  });

  it.each([
    ['in a day', 86_400_000],
    ['in six minutes', 360_000],
    ['31 days ago', -31 * 86_400_000],
    ['in 1970', -Date.now()],
  ])('a payment %s is absurd', async (_when, fromNowMs) => {
    const occurred_at = new Date(Date.now() + fromNowMs).toISOString();
    expectProblem(await evaluate(payment({ occurred_at })), 400, 'ERR_VALIDATION');
  });

  it('keep the order of the contract', async () => {
    const url = `${server.url}${PATH}`;
    expectProblem(await send(url, { body: payment() }), 401, 'ERR_UNAUTHENTICATED');
    const cards = await identity.bearer({ scope: 'authorizations' });
    expectProblem(await evaluate(payment(), { bearer: cards }), 403, 'ERR_FORBIDDEN');
    expectProblem(
      await send(url, { bearer, idempotencyKey: null, body: payment() }),
      400,
      'ERR_BACKOFF_HEADERS_REQUIRED',
    );
    expectProblem(await send(url, { bearer }), 405, 'ERR_METHOD_NOT_ALLOWED');
    expectProblem(await send(url, { bearer, body: `{"amount_minor":1.0}` }), 400, 'ERR_VALIDATION');
  });

  it('leave nothing behind', async () => {
    const count = async (): Promise<string | undefined> => {
      const { rows } = await owner.query<{ count: string }>(`SELECT count(*) FROM evaluations`);
      return rows[0]?.count;
    };
    const before = await count();
    const key = randomUUID();
    expectProblem(await evaluate(payment({ amount_minor: 0 }), { key }), 400, 'ERR_VALIDATION');
    expect(await count()).toBe(before);
    expect((await evaluate(payment(), { key })).status).toBe(200);
  });
});

describe('a database that somebody has locked', () => {
  const locks: [string, string][] = [
    ['the card', 'SELECT FROM cards FOR UPDATE'],
    ['the history of cards', 'LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE'],
    ['the results', 'LOCK TABLE evaluations IN ACCESS EXCLUSIVE MODE'],
  ];
  it.each(locks)('is asked to come again later, and its key is evaluated once it is free: %s', async (_what, lock) => {
    const [key, body] = [randomUUID(), payment()];
    await evaluate(body);
    await owner.query('BEGIN');
    await owner.query(lock);
    const refused = await evaluate(body, { key });
    await owner.query('ROLLBACK');
    expectProblem(refused, 503, 'ERR_CARD_BUSY');
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(refused.elapsedMs).toBeLessThan(3_000);
    const again = await evaluate(body, { key });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect(server.records.filter(({ alert }) => alert === 'ALERT_UNEXPECTED_ERROR')).toEqual([]);
  });
});

describe('card tokens', () => {
  it('are in no row and no line of the log', async () => {
    const secret = `tok${randomUUID().replaceAll('-', '')}`;
    const { body } = await evaluate(payment({ card_token: secret }));
    expectProblem(await evaluate(payment({ card_token: `${secret}\u0000` })), 400, 'ERR_VALIDATION');
    await read(body['id']);
    expect(server.lines.join('\n')).not.toContain(secret);
    expect(server.lines.join('\n')).not.toContain(KEY);
    const { rows: tables } = await owner.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'fraud'::regnamespace AND relkind = 'r'`,
    );
    expect(tables.length).toBeGreaterThan(8);
    for (const { name } of tables) {
      const { rows } = await owner.query(`SELECT FROM "${name}" AS t WHERE t::text LIKE '%' || $1 || '%'`, [secret]);
      expect([name, rows.length]).toEqual([name, 0]);
    }
  });

  it('have another fingerprint under another key, so that the card is unknown there', async () => {
    const card_token = `card_test_${randomUUID()}`;
    await evaluate(payment({ card_token }));
    const elsewhere = await start({ FRAUD_FINGERPRINT_KEY: 'another-key-of-the-tests-'.repeat(2) });
    const rules = async (at: ServerProcess): Promise<unknown> =>
      ((await evaluate(payment({ card_token }), { at })).body['reasons'] as { rule: string }[]).map(({ rule }) => rule);
    expect([await rules(elsewhere), await rules(server)]).toEqual([['card_new'], []]);
    const health = await send(`${elsewhere.url}/health`);
    expect(health.text).not.toContain('another-key-of-the-tests');
    await elsewhere.terminate();
  });
});

describe('rules', () => {
  function fileOf(rules: object): string {
    const file = join(workerFolder(), `rules-${randomUUID()}.json`);
    writeFileSync(file, JSON.stringify(rules));
    return file;
  }
  const usual = { fact: 'amount_minor', operator: 'greaterThanInclusive', value: 5_000 };
  const rule = { id: 'large_amount', points: 90, text: 'A large amount', when: { all: [usual] } };
  const decisions = { review_from: 40, decline_from: 75 };

  it('are data: one that was added to the file is obeyed', async () => {
    const strict = await start({ FRAUD_RULES_FILE: fileOf({ decisions, rules: [rule] }) });
    const { body } = await evaluate(payment({ amount_minor: 5_000 }), { at: strict });
    expect(body).toMatchObject({
      score: 90,
      decision: 'DECLINE',
      reasons: [{ rule: 'large_amount', points: 90, text: 'A large amount', facts: { amount_minor: '****' } }],
    });
    const below = await evaluate(payment({ amount_minor: 4_999 }), { at: strict });
    expect(below.body).toMatchObject({ score: 0, decision: 'APPROVE', reasons: [] });
    await strict.terminate();
  });

  it.each([
    ['an unknown fact', { decisions, rules: [{ ...rule, when: { all: [{ ...usual, fact: 'mood' }] } }] }, 'mood'],
    ['a duplicate id', { decisions, rules: [rule, rule] }, 'large_amount'],
    ['points out of range', { decisions, rules: [{ ...rule, points: 101 }] }, 'large_amount.points'],
  ])('with %s stop the start, which names it', async (_what, rules, named) => {
    const refused = await start({ FRAUD_RULES_FILE: fileOf(rules) }, null);
    expect((await refused.exit).code).toBe(1);
    expect(refused.lines.join('\n')).toContain(named);
  });

  it('and a key that is too short do', async () => {
    const refused = await start({ FRAUD_FINGERPRINT_KEY: 'too-short' }, null);
    expect((await refused.exit).code).toBe(1);
    expect(refused.lines.join('\n')).toContain('FRAUD_FINGERPRINT_KEY');
    expect(refused.lines.join('\n')).not.toContain('too-short');
  });
});
