import type { Client } from 'pg';
import type { AuthorizationRequest } from '../../../src/lanes/authorization/authorization';
import { newRowId } from '../../../src/lanes/authorization/authorization-id';
import { presentAuthorization } from '../../../src/lanes/authorization/authorization.presenter';
import type { Caller } from '../../../src/ingress/caller';
import { publicId } from '../../../src/shared/public-id';
import {
  addCards,
  addMerchants,
  heldOn,
  keyed,
  type LaneProcess,
  openLaneProcess,
  openTransactions,
  scopeHash,
  tryOnce,
} from '../../fixtures/authorization-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
const BIGINT_MAX = 9_223_372_036_854_775_807n;

let test: TestDatabase;
let owner: Client;
let lane: LaneProcess;
let keys = 0;

const caller: Caller = { subject: 'checkout', scopes: new Set(['authorizations']), merchants: '*' };

function request(cardToken: string, amountMinor = 100, rest: Partial<AuthorizationRequest> = {}): AuthorizationRequest {
  return { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD', ...rest };
}

async function codeOf(asked: AuthorizationRequest): Promise<string> {
  return (await tryOnce(lane.committer, `key ${(keys += 1)}`, asked)).result;
}

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a', 'mer_b');
  await addCards(
    owner,
    { token: 'good', limitMinor: 1_000, transactionLimitMinor: 500 },
    { token: 'lost', status: 'LOST', expiresOn: '2020-01-01' },
    { token: 'blocked', status: 'BLOCKED', expiresOn: '2020-01-01' },
    { token: 'expired', expiresOn: '2020-01-01', currency: 'EUR' },
    { token: 'eur', currency: 'EUR', limitMinor: 10 },
    { token: 'jpy', currency: 'JPY' },
    { token: 'kwd', currency: 'KWD' },
    { token: 'small', limitMinor: 10, transactionLimitMinor: 100 },
    { token: 'replayed' },
    { token: 'seen' },
    { token: 'edge', limitMinor: SAFE_MAX },
    { token: 'huge', limitMinor: BIGINT_MAX },
    { token: 'none', limitMinor: 0, transactionLimitMinor: 100 },
  );
  const { rows } = await owner.query<{ today: string }>(`SELECT ((now() AT TIME ZONE 'UTC')::date)::text AS today`);
  await addCards(owner, { token: 'last day', expiresOn: rows[0]?.today ?? '' });
  lane = await openLaneProcess(test);
});

describe('response codes', () => {
  it.each([
    ['00 approved', request('good'), '00'],
    ['03 unknown merchant, before anything else', request('nobody', 1, { merchantId: 'mer_z' }), '03'],
    ['03 with a good card', request('good', 1, { merchantId: 'mer_z' }), '03'],
    ['14 unknown card', request('nobody'), '14'],
    ['41 lost, though expired too', request('lost'), '41'],
    ['62 blocked, though expired too', request('blocked'), '62'],
    ['54 expired, though of another currency too', request('expired'), '54'],
    ['00 on the last day', request('last day'), '00'],
    ['57 wrong currency, though over every limit too', request('eur', 1_000_000), '57'],
    ['61 over the per-transaction limit, though over open-to-buy too', request('good', 1_001), '61'],
    ['61 by one', request('good', 501), '61'],
    ['00 at the per-transaction limit', request('good', 500), '00'],
    ['51 by one: 600 of 1,000 are held', request('good', 401), '51'],
    ['00 for the last of the open-to-buy', request('good', 400), '00'],
    ['51 with nothing left', request('good', 1), '51'],
    ['51 where the limit is below the per-transaction limit', request('small', 11), '51'],
    ['51 on a card without a limit', request('none', 1), '51'],
    ['00 in a currency without decimals', request('jpy', 123, { currency: 'JPY' }), '00'],
    ['00 in a currency with three', request('kwd', 123_456, { currency: 'KWD' }), '00'],
    ['57 in a currency the card does not have', request('kwd', 1, { currency: 'USD' }), '57'],
  ])('%s', async (_, asked, code) => {
    expect(await codeOf(asked)).toBe(code);
  });

  it('other than 00 hold nothing, and are stored', async () => {
    expect(await heldOn(owner, 'good')).toEqual({ held: '1000', summed: '1000' });
    for (const token of ['lost', 'blocked', 'expired', 'eur', 'small', 'none']) {
      expect(await heldOn(owner, token)).toEqual({ held: '0', summed: '0' });
    }
    const { rows } = await owner.query<{ codes: string[] }>(
      `SELECT array_agg(DISTINCT response_code ORDER BY response_code) AS codes FROM authorizations`,
    );
    expect(rows[0]?.codes).toEqual(['00', '03', '14', '41', '51', '54', '57', '61', '62']);
  });

  it('of a decline come with nothing remaining and the usual members', async () => {
    const { authorization } = await tryOnce(lane.committer, 'decline', request('nobody'));
    const answer = authorization && presentAuthorization(authorization);
    expect(answer).toMatchObject({ status: 'DECLINED', response_code: '14', captured_minor: 0, reversed_minor: 0 });
    expect(Object.keys(answer ?? {})).toEqual([
      'id',
      'status',
      'response_code',
      'merchant_id',
      'amount_minor',
      'captured_minor',
      'reversed_minor',
      'expired_minor',
      'refunded_minor',
      'currency',
      'created_at',
      'expires_at',
    ]);
  });
});

describe('amounts at the edge of exactness', () => {
  it('are held exactly up to 2^53 - 1', async () => {
    expect(await codeOf(request('edge', SAFE_MAX - 1))).toBe('00');
    expect(await codeOf(request('edge', 2))).toBe('51');
    expect(await codeOf(request('edge', 1))).toBe('00');
    expect(await codeOf(request('edge', 1))).toBe('51');
    expect(await heldOn(owner, 'edge')).toEqual({ held: '9007199254740991', summed: '9007199254740991' });
  });

  it('add up exactly beyond 2^53, to the last unit of a bigint limit', async () => {
    for (let n = 0; n < 3; n += 1) expect(await codeOf(request('huge', SAFE_MAX))).toBe('00');
    expect(await codeOf(request('huge', 2))).toBe('00');
    expect(await heldOn(owner, 'huge')).toEqual({ held: '27021597764222975', summed: '27021597764222975' });
    await owner.query(`UPDATE cards SET held_minor = limit_minor - 5 WHERE token = 'huge'`);
    expect(await codeOf(request('huge', 6))).toBe('51');
    expect(await codeOf(request('huge', SAFE_MAX))).toBe('51');
    expect(await codeOf(request('huge', 5))).toBe('00');
    expect((await heldOn(owner, 'huge')).held).toBe(String(BIGINT_MAX));
  });

  it('are read back as they were sent', async () => {
    const { authorization } = await tryOnce(lane.committer, 'edge back', request('edge', SAFE_MAX));
    const id = publicId('aut_', authorization?.rowId ?? '');
    expect((await lane.service.read(caller, id)).amountMinor).toBe(SAFE_MAX);
  });
});

describe('a repeat under the same key', () => {
  it('gets the first answer byte for byte, whatever became of the authorization since', async () => {
    const asked = request('replayed', 1_000);
    const first = await tryOnce(lane.committer, 'again', asked);
    const before = JSON.stringify(first.authorization && presentAuthorization(first.authorization));
    await owner.query(
      `UPDATE authorizations SET captured_minor = 400, reversed_minor = 100, refunded_minor = 50 WHERE id = $1`,
      [first.authorization?.rowId],
    );
    const second = await tryOnce(lane.committer, 'again', asked);
    expect([first.result, second.result]).toEqual(['00', 'replayed 00']);
    expect(JSON.stringify(second.authorization && presentAuthorization(second.authorization))).toBe(before);
    const now = await lane.service.readByKey(caller, scopeHash('again'));
    expect(presentAuthorization(now)).toMatchObject({ status: 'PARTIALLY_CAPTURED', captured_minor: 400 });
    expect((await heldOn(owner, 'replayed')).held).toBe('1000');
  });

  it('gets the stored decline, though it would be approved now', async () => {
    const asked = request('later');
    expect((await tryOnce(lane.committer, 'declined', asked)).result).toBe('14');
    await addCards(owner, { token: 'later' });
    expect((await tryOnce(lane.committer, 'declined', asked)).result).toBe('replayed 14');
    expect((await tryOnce(lane.committer, 'declined anew', asked)).result).toBe('00');
  });

  it('is told of another payload', async () => {
    await tryOnce(lane.committer, 'reused', request('seen', 100));
    expect((await tryOnce(lane.committer, 'reused', request('seen', 101))).result).toBe('key_reused');
    expect((await tryOnce(lane.committer, 'reused', request('nobody', 100))).result).toBe('key_reused');
    expect((await heldOn(owner, 'seen')).held).toBe('100');
  });

  it('by another caller is another request', async () => {
    const asked = request('seen', 7);
    const [one, other] = await Promise.all(
      ['checkout', 'kiosk'].map((subject) =>
        lane.committer.authorize({ keyed: keyed('shared', asked, subject), caller: subject, request: asked }),
      ),
    );
    expect([one, other]).toMatchObject([
      { kind: 'answered', replayed: false },
      { kind: 'answered', replayed: false },
    ]);
  });
});

describe('an authorization', () => {
  it('lives for 7 days of the database clock, its times in whole milliseconds', async () => {
    const { authorization } = await tryOnce(lane.committer, 'times', request('seen', 1));
    const { rows } = await owner.query<{ exact: boolean; recent: boolean; created_at: Date }>(
      `SELECT expires_at - created_at = interval '7 days' AS exact, created_at,
         created_at BETWEEN now() - interval '10 s' AND now() + interval '1 ms' AS recent
       FROM authorizations WHERE id = $1`,
      [authorization?.rowId],
    );
    expect(rows[0]).toMatchObject({ exact: true, recent: true, created_at: authorization?.createdAt });
    const answer = authorization && presentAuthorization(authorization);
    expect(answer?.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('is read by whoever may act for its merchant, and is nothing to others', async () => {
    const { authorization } = await tryOnce(lane.committer, 'read', request('seen', 2));
    const id = publicId('aut_', authorization?.rowId ?? '');
    const other: Caller = { subject: 'kiosk', scopes: caller.scopes, merchants: new Set(['mer_a']) };
    const stranger: Caller = { ...other, merchants: new Set(['mer_b']) };
    expect(await lane.service.read(other, id)).toEqual(authorization);
    for (const [who, what] of [
      [stranger, id],
      [caller, publicId('aut_', newRowId())],
      [caller, id.replace('aut_', 'cap_')],
      [caller, `${id}0`],
      [caller, "aut_'; drop table cards"],
    ] as const) {
      await expect(lane.service.read(who, what)).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    }
    expect(await lane.service.readByKey(other, scopeHash('read'))).toEqual(authorization);
    await expect(lane.service.readByKey(stranger, scopeHash('read'))).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
  });
});

describe('the look-up by key', () => {
  it('finds nothing under a key that nobody used, and leaves no trace of having tried', async () => {
    await expect(lane.service.readByKey(caller, scopeHash('unused'))).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
    expect((await tryOnce(lane.committer, 'unused', request('seen', 3))).result).toBe('00');
  });

  it('is told to come back while another process has the key uncommitted', async () => {
    const other = await openLaneProcess(test, { connections: 2 });
    const asked = request('seen', 4);
    let finish!: () => void;
    const committed = other.database.transaction(async (connection) => {
      await connection.query({ name: 'test_claim', text: claimKey }, [scopeHash('elsewhere')]);
      await new Promise<void>((resolve) => (finish = resolve));
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(lane.service.readByKey(caller, scopeHash('elsewhere'))).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_IN_FLIGHT',
      kind: { status: 409, retryAfterSeconds: 1 },
    });
    expect((await tryOnce(lane.committer, 'elsewhere', asked)).result).toBe('in_flight');
    finish();
    await committed;
  });

  it('is told to come back while this process has it', async () => {
    const asked = request('seen', 5);
    let proceed!: () => void;
    const held = new Promise<void>((resolve) => (proceed = resolve));
    const running = lane.coordinator.run(keyed('here', asked), async () => {
      await held;
      return lane.committer.authorize({ keyed: keyed('here', asked), caller: 'checkout', request: asked });
    });
    await expect(lane.service.readByKey(caller, scopeHash('here'))).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_IN_FLIGHT',
    });
    proceed();
    const { answer } = await running;
    expect(await lane.service.readByKey(caller, scopeHash('here'))).toEqual(answer);
  });

  it('is told so too where no connection is free for the question', async () => {
    const small = await openLaneProcess(test, { connections: 1 });
    const waiting = Promise.withResolvers<void>();
    const held = small.database.transaction(() => waiting.promise);
    const running = small.coordinator.run(keyed('waits', request('seen', 6)), async () => {
      await waiting.promise;
      return small.committer.authorize({
        keyed: keyed('waits', request('seen', 6)),
        caller: 'checkout',
        request: request('seen', 6),
      });
    });
    await expect(small.service.readByKey(caller, scopeHash('waits'))).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_IN_FLIGHT',
    });
    await expect(small.service.readByKey(caller, scopeHash('nobody’s'))).rejects.toMatchObject({
      code: 'ERR_DATABASE_POOL_EXHAUSTED',
    });
    waiting.resolve();
    await held;
    const { answer } = await running;
    expect(await small.service.readByKey(caller, scopeHash('waits'))).toEqual(answer);
  });
});

it('is made without leaving any session in a transaction', async () => {
  expect(await openTransactions(test)).toBe(0);
});

const claimKey = `
  INSERT INTO idempotency_keys (scope_hash, generation, payload_hash, resource_id, created_at)
  SELECT $1::bytea, generation, $1::bytea, gen_random_uuid(), now()
  FROM idempotency_generations WHERE sealed_at IS NULL`;
