import { randomUUID } from 'node:crypto';
import { type Answer, expectProblem, send } from '../../support/http';
import { type ServerProcess, startServer } from '../../support/server-process';
import { createTestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

const usual = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1_250, currency: 'USD' };

let server: ServerProcess;
let identity: TestIdentity;
let bearer: string;

interface Sent {
  readonly key?: string;
  readonly bearer?: string;
}

function authorize(changes: object = {}, { key = randomUUID(), bearer: given = bearer }: Sent = {}): Promise<Answer> {
  return send(`${server.url}/v1/authorizations`, {
    bearer: given,
    idempotencyKey: key,
    body: { ...usual, ...changes },
  });
}

function read(path: string, given = bearer): Promise<Answer> {
  return send(`${server.url}/v1/authorizations${path}`, { bearer: given });
}

beforeAll(async () => {
  identity = await createTestIdentity();
  bearer = await identity.bearer();
  server = await startServer({
    database: await createTestDatabase(),
    identity,
    environment: { PAYMENT_ROLE: 'authorization', LANE_AUTHORIZATION_POOL: '10' },
  });
});

it('answers 201 with the members of the contract, where to find it, and no more', async () => {
  const answer = await authorize();
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({
    id: expect.stringMatching(/^aut_[0-9A-Z]{26}$/) as string,
    status: 'APPROVED',
    response_code: '00',
    merchant_id: 'mer_demo_0001',
    amount_minor: 1_250,
    captured_minor: 0,
    reversed_minor: 0,
    expired_minor: 0,
    refunded_minor: 0,
    currency: 'USD',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    expires_at: expect.stringMatching(/\.\d{3}Z$/) as string,
  });
  expect(answer.headers.get('location')).toBe(`/v1/authorizations/${String(answer.body['id'])}`);
  expect(answer.headers.get('idempotency-replayed')).toBeNull();
  const again = await read(`/${String(answer.body['id'])}`);
  expect([again.status, again.body]).toEqual([200, answer.body]);
});

it.each([
  ['card_demo_usd_1000', {}, '00'],
  ['card_demo_eur', { currency: 'EUR' }, '00'],
  ['card_demo_jpy', { currency: 'JPY' }, '00'],
  ['card_demo_kwd', { currency: 'KWD' }, '00'],
  ['card_demo_nobody', {}, '14'],
  ['card_demo_lost', {}, '41'],
  ['card_demo_blocked', {}, '62'],
  ['card_demo_expired', {}, '54'],
  ['card_demo_eur', {}, '57'],
  ['card_demo_usd_0002', { amount_minor: 10_000_001 }, '61'],
  ['card_demo_low_usd', { amount_minor: 50_001 }, '51'],
  ['card_demo_usd_0002', { merchant_id: 'mer_nobody' }, '03'],
])('%s with %j is answered %s', async (card_token, changes, code) => {
  const { status, body } = await authorize({ card_token, ...changes });
  expect([status, body['response_code'], body['status']]).toEqual([201, code, code === '00' ? 'APPROVED' : 'DECLINED']);
});

it('replays under the same key, byte for byte, and refuses another payload', async () => {
  const key = randomUUID();
  const first = await authorize({}, { key });
  const second = await authorize({}, { key });
  expect([second.status, second.text, second.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  const other = await authorize({ amount_minor: 1 }, { key });
  expectProblem(other, 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
});

it('tells by key what became of a request', async () => {
  const key = 'order 17/a?&b';
  expectProblem(await read(`?idempotency_key=${encodeURIComponent(key)}`), 404, 'ERR_NOT_FOUND');
  const { body } = await authorize({}, { key });
  const found = await read(`?idempotency_key=${encodeURIComponent(key)}`);
  expect([found.status, found.body]).toEqual([200, body]);
  const kiosk = await identity.bearer({ subject: 'kiosk' });
  expectProblem(await read(`?idempotency_key=${encodeURIComponent(key)}`, kiosk), 404, 'ERR_NOT_FOUND');
  expectProblem(await read(''), 400, 'ERR_VALIDATION');
  expectProblem(await read('?idempotency_key=a&page=2'), 400, 'ERR_VALIDATION');
});

it('shows nothing of another merchant', async () => {
  const { body } = await authorize();
  const stranger = await identity.bearer({ merchants: ['mer_demo_0002'] });
  expectProblem(await read(`/${String(body['id'])}`, stranger), 404, 'ERR_NOT_FOUND');
  expectProblem(await authorize({}, { bearer: stranger }), 403, 'ERR_FORBIDDEN');
  for (const id of ['aut_1', 'x', String(body['id']).toLowerCase(), `${String(body['id'])}%00`]) {
    expectProblem(await read(`/${id}`), 404, 'ERR_NOT_FOUND');
  }
});

it('names every fault of a body', async () => {
  const answer = await authorize({ amount_minor: 0.5, currency: 'usd', note: 1, merchant_id: undefined });
  expectProblem(answer, 400, 'ERR_VALIDATION');
  const errors = answer.body['errors'] as { pointer: string }[];
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual(['/amount_minor', '/currency', '/merchant_id', '/note']);
});
