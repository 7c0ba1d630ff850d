import type { Client } from 'pg';
import { laneTable } from '../../../config/lanes';
import { authorizationDemo } from '../../../scripts/setup/demo/authorization';
import { placeAuthorizations } from '../../../src/lanes/authorization/authorization.statements';
import { sqlStateOf } from '../../../src/platform/database/driver-errors';
import { type LaneProcess, openLaneProcess } from '../../fixtures/authorization-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const DENIED = '42501';
const CHECK_VIOLATED = '23514';

let test: TestDatabase;
let owner: Client;
let lane: LaneProcess;
let statements = 0;

/** The SQLSTATE with which the running lane's role fails; null where it may. */
async function stateAsLane(text: string): Promise<string | null> {
  return lane.database.query({ name: `schema_test_${(statements += 1)}`, text }, []).then(() => null, sqlStateOf);
}

async function stateAsOwner(text: string): Promise<string | null> {
  return owner.query(text).then(() => null, sqlStateOf);
}

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await authorizationDemo.load(owner);
  lane = await openLaneProcess(test, { connections: 2 });
});

describe('the demo data', () => {
  it('is what the contract lists, and loading it twice changes nothing', async () => {
    await authorizationDemo.load(owner);
    const { rows } = await owner.query(`
      SELECT (SELECT count(*)::int FROM merchants WHERE id LIKE 'mer_demo_%') AS merchants,
        (SELECT count(*)::int FROM cards WHERE token ~ '^card_demo_usd_\\d{4}$' AND currency = 'USD'
           AND limit_minor = 9000000000000 AND transaction_limit_minor = 10000000 AND status = 'ACTIVE') AS usd,
        (SELECT array_agg(token || ' ' || currency || ' ' || limit_minor || ' ' || status || ' '
           || (expires_on >= current_date) ORDER BY token) FROM cards WHERE token !~ 'usd_\\d') AS others,
        (SELECT array_agg(account_id ORDER BY account_id) FROM merchant_settlement_accounts
           WHERE merchant_id = 'mer_demo_0050') AS accounts`);
    expect(rows[0]).toEqual({
      merchants: 50,
      usd: 1_000,
      others: [
        'card_demo_blocked USD 9000000000000 BLOCKED true',
        'card_demo_eur EUR 9000000000000 ACTIVE true',
        'card_demo_expired USD 9000000000000 ACTIVE false',
        'card_demo_jpy JPY 9000000000000 ACTIVE true',
        'card_demo_kwd KWD 9000000000000 ACTIVE true',
        'card_demo_lost USD 9000000000000 LOST true',
        'card_demo_low_usd USD 50000 ACTIVE true',
      ],
      accounts: ['ACC-0050', 'ACC-EUR-0001', 'ACC-JPY-0001', 'ACC-KWD-0001'],
    });
  });
});

describe('the lane’s role', () => {
  it.each([
    `UPDATE cards SET limit_minor = limit_minor + 1`,
    `INSERT INTO cards (token, currency, limit_minor, transaction_limit_minor, expires_on) VALUES ('x', 'USD', 1, 1, now())`,
    `DELETE FROM cards`,
    `INSERT INTO merchants (id) VALUES ('x')`,
    `UPDATE authorizations SET amount_minor = 1`,
    `UPDATE authorizations SET response_code = '00'`,
    `DELETE FROM authorizations`,
    `DELETE FROM captures`,
    `UPDATE outbox SET amount_minor = 1`,
    `DELETE FROM idempotency_keys`,
    `UPDATE idempotency_keys SET payload_hash = scope_hash`,
    `SELECT FROM idempotency_keys_1`,
    `UPDATE idempotency_generations SET generation = 9`,
    `TRUNCATE cards`,
    `CREATE TABLE mine (id int)`,
    `CREATE TEMPORARY TABLE idempotency_generations (generation int)`,
  ])('may not: %s', async (text) => {
    expect(await stateAsLane(text)).toBe(DENIED);
  });

  it('may do what captures, reversals, expiry, refunds and the outbox need', async () => {
    for (const text of [
      `UPDATE authorizations SET captured_minor = 0, reversed_minor = 0, expired_minor = 0, refunded_minor = 0`,
      `UPDATE cards SET held_minor = held_minor WHERE false`,
      `UPDATE captures SET refunded_minor = 0`,
      `UPDATE outbox SET published_at = now(), leased_until = now(), attempts = attempts + 1`,
      `DELETE FROM outbox`,
      `SELECT FROM merchant_settlement_accounts`,
    ]) {
      expect(await stateAsLane(text)).toBeNull();
    }
  });

  it('sees one schema', () => {
    expect(laneTable.authorization.datasource).toMatchObject({ schema: 'card_auth', role: 'card_auth_app' });
  });
});

describe('the database itself refuses', () => {
  const authorization = (changes: Record<string, string>): string => {
    const row = {
      id: 'gen_random_uuid()',
      merchant_id: `'m'`,
      card_id: '1',
      caller: `'c'`,
      amount_minor: '100',
      currency: `'USD'`,
      response_code: `'00'`,
      created_at: 'now()',
      expires_at: 'now()',
      ...changes,
    };
    return `INSERT INTO authorizations (${Object.keys(row).join()}) VALUES (${Object.values(row).join()})`;
  };

  it('to hold more than a card’s limit or less than nothing, whoever asks', async () => {
    const card = `WHERE token = 'card_demo_low_usd'`;
    expect(await stateAsLane(`UPDATE cards SET held_minor = 50000 ${card}`)).toBeNull();
    expect(await stateAsLane(`UPDATE cards SET held_minor = 50001 ${card}`)).toBe(CHECK_VIOLATED);
    expect(await stateAsLane(`UPDATE cards SET held_minor = -1 ${card}`)).toBe(CHECK_VIOLATED);
    expect(await stateAsOwner(`UPDATE cards SET limit_minor = 49999 ${card}`)).toBe(CHECK_VIOLATED);
  });

  it.each<[string, Record<string, string>, string | null]>([
    ['sums up to the amount', { captured_minor: '50', reversed_minor: '30', expired_minor: '20' }, null],
    ['sums beyond the amount', { captured_minor: '50', reversed_minor: '30', expired_minor: '21' }, CHECK_VIOLATED],
    ['refunds up to the captures', { captured_minor: '50', refunded_minor: '50' }, null],
    ['refunds beyond the captures', { captured_minor: '50', refunded_minor: '51' }, CHECK_VIOLATED],
    ['a negative sum', { reversed_minor: '-1' }, CHECK_VIOLATED],
    ['an amount of nothing', { amount_minor: '0' }, CHECK_VIOLATED],
    ['2^53 - 1', { amount_minor: '9007199254740991' }, null],
    ['2^53', { amount_minor: '9007199254740992' }, CHECK_VIOLATED],
    ['a decline that holds nothing', { response_code: `'51'` }, null],
    ['a decline with a capture', { response_code: `'51'`, captured_minor: '1' }, CHECK_VIOLATED],
    ['an unknown response code', { response_code: `'99'` }, CHECK_VIOLATED],
    ['an approval without a card', { card_id: 'NULL' }, CHECK_VIOLATED],
    ['a decline without a card', { card_id: 'NULL', response_code: `'14'` }, null],
  ])('or not: %s', async (_, changes, state) => {
    expect(await stateAsOwner(authorization(changes))).toBe(state);
  });
});

describe('the plan of the hot statement, made on empty tables', () => {
  it('looks keys and cards up by index all the same, so that it stays right as they fill', async () => {
    const planner = await test.ownerClient('authorization');
    await planner.query(`SET plan_cache_mode = force_generic_plan`);
    await planner.query(`PREPARE hot AS ${placeAuthorizations.text}`);
    const { rows } = await planner.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN EXECUTE hot ('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    );
    const scanned = rows.flatMap((row) => /Seq Scan on (\S+)/.exec(row['QUERY PLAN'])?.[1] ?? []);
    // One page each, whatever the load: the merchants of the demo and the two or three generations.
    expect(scanned.filter((table) => !['merchants', 'idempotency_generations'].includes(table))).toEqual([]);
  });

  it('scans no table at all where many cards, merchants and authorizations are', async () => {
    await owner.query(`
      INSERT INTO merchants (id) SELECT 'mer_' || n FROM generate_series(1, 5000) n;
      INSERT INTO cards (token, currency, limit_minor, transaction_limit_minor, expires_on)
        SELECT 'card ' || n, 'USD', 1000, 1000, '2099-01-01' FROM generate_series(1, 20000) n;
      INSERT INTO idempotency_keys
        SELECT sha256(n::text::bytea), 1, sha256('x'), gen_random_uuid(), now() FROM generate_series(1, 50000) n;
      SELECT roll_idempotency_generation('0');
      -- As autovacuum does it: never the generation that has nothing in it yet.
      ANALYZE merchants, cards, idempotency_keys_1`);
    const planner = await test.ownerClient('authorization');
    await planner.query(`SET plan_cache_mode = force_generic_plan`);
    await planner.query(`PREPARE hot AS ${placeAuthorizations.text}`);
    const { rows } = await planner.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN EXECUTE hot ('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    );
    const scanned = rows.flatMap((row) => /Seq Scan on (\S+)/.exec(row['QUERY PLAN'])?.[1] ?? []);
    expect(scanned.filter((table) => table !== 'idempotency_generations')).toEqual([]);
  });
});
