import type { Client } from 'pg';
import type { AuthorizationRequest } from '../../../src/lanes/authorization/authorization';
import type { GroupStore } from '../../../src/lanes/authorization/group-commit/group-store';
import {
  addCards,
  addMerchants,
  adminClient,
  heldOn,
  type LaneProcess,
  openLaneProcess,
  openTransactions,
  scopeHash,
  tryOnce,
} from '../../fixtures/authorization-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const COMPANIONS = 30;

let test: TestDatabase;
let owner: Client;
let lane: LaneProcess;

function request(cardToken: string, amountMinor = 100): AuthorizationRequest {
  return { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD' };
}

/** Asks for one hold on each of 30 cards under the keys `<name> <n>`, all in the same tick. */
function askAll(process: LaneProcess, name: string, amountOf: (n: number) => number = () => 100) {
  return Array.from({ length: COMPANIONS }, (_, n) =>
    tryOnce(process.committer, `${name} ${n}`, request(`card ${n}`, amountOf(n))),
  );
}

async function resultsOf(tries: readonly Promise<{ result: string }>[]): Promise<string[]> {
  return (await Promise.all(tries)).map(({ result }) => result);
}

function allBut(n: number, result: string): string[] {
  return Array.from({ length: COMPANIONS }, (_, index) => (index === n ? result : '00'));
}

async function rowsUnder(name: string): Promise<number> {
  const { rows } = await owner.query<{ count: string }>(
    `SELECT count(*) FROM idempotency_keys k JOIN authorizations a ON a.id = k.resource_id
     WHERE k.scope_hash = ANY ($1::bytea[])`,
    [Array.from({ length: COMPANIONS }, (_, n) => scopeHash(`${name} ${n}`))],
  );
  return Number(rows[0]?.count);
}

async function heldOnAll(): Promise<{ held: string; summed: string }[]> {
  const all = [];
  for (let n = 0; n < COMPANIONS; n += 1) all.push(await heldOn(owner, `card ${n}`));
  return all;
}

/** Another process that has taken a key and does not end. */
async function holdKey(key: string): Promise<{ release(): Promise<void> }> {
  const holder = await test.ownerClient('authorization');
  await holder.query('BEGIN');
  await holder.query(
    `INSERT INTO idempotency_keys
     SELECT $1::bytea, generation, $1::bytea, gen_random_uuid(), now()
     FROM idempotency_generations WHERE sealed_at IS NULL`,
    [scopeHash(key)],
  );
  return { release: async () => void (await holder.query('ROLLBACK')) };
}

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addCards(owner, ...Array.from({ length: COMPANIONS }, (_, n) => ({ token: `card ${n}` })));
  lane = await openLaneProcess(test);
});

it('a poisoned member fails alone, and nothing of it is stored', async () => {
  await owner.query(`
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.amount_minor = 666 THEN RAISE EXCEPTION 'poison'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER poison BEFORE INSERT ON authorizations FOR EACH ROW EXECUTE FUNCTION poison()`);
  const heldBefore = (await heldOn(owner, 'card 17')).held;
  const results = await resultsOf(askAll(lane, 'poison', (n) => (n === 17 ? 666 : 100)));
  expect(results).toEqual(allBut(17, 'ERR_INTERNAL'));
  expect(await rowsUnder('poison')).toBe(COMPANIONS - 1);
  expect((await heldOn(owner, 'card 17')).held).toBe(heldBefore);
  await owner.query('DROP TRIGGER poison ON authorizations');
  // Nothing was stored, so the same key runs again.
  expect((await tryOnce(lane.committer, 'poison 17', request('card 17', 666))).result).toBe('00');
});

it('a card that another session has locked costs its companions nothing', async () => {
  const locker = await test.ownerClient('authorization');
  await locker.query(`BEGIN; SELECT FROM cards WHERE token = 'card 3' FOR UPDATE`);
  const order: number[] = [];
  const startedAtMs = performance.now();
  const tries = askAll(lane, 'locked').map((tried, n) => tried.finally(() => order.push(n)));
  const companions = tries.filter((_, n) => n !== 3);
  await Promise.all(companions);
  const companionsMs = performance.now() - startedAtMs;
  expect(await resultsOf(tries)).toEqual(allBut(3, 'ERR_CARD_BUSY'));
  const lockedMs = performance.now() - startedAtMs;
  expect(order.at(-1)).toBe(3);
  expect(companionsMs).toBeLessThan(lockedMs);
  expect(lockedMs).toBeGreaterThanOrEqual(95);
  // A stored answer needs no card.
  expect((await tryOnce(lane.committer, 'poison 3', request('card 3'))).result).toBe('replayed 00');
  await locker.query('COMMIT');
  expect((await tryOnce(lane.committer, 'locked 3', request('card 3'))).result).toBe('00');
});

it('a card that comes free within 100 ms is authorized', async () => {
  const locker = await test.ownerClient('authorization');
  await locker.query(`BEGIN; SELECT FROM cards WHERE token = 'card 4' FOR UPDATE`);
  const tried = tryOnce(lane.committer, 'freed', request('card 4'));
  await new Promise((resolve) => setTimeout(resolve, 30));
  await locker.query('COMMIT');
  expect((await tried).result).toBe('00');
});

it('a key that another process holds is in flight; its companions are answered', async () => {
  const holder = await holdKey('held 9');
  const startedAtMs = performance.now();
  expect(await resultsOf(askAll(lane, 'held'))).toEqual(allBut(9, 'in_flight'));
  // One wait of 250 ms for the whole, 10 ms for each part that still has the key in it.
  expect(performance.now() - startedAtMs).toBeLessThan(1_400);
  await holder.release();
  expect((await tryOnce(lane.committer, 'held 9', request('card 9'))).result).toBe('00');
});

it('a connection that is lost in mid-statement is nobody’s fault', async () => {
  const holder = await holdKey('lost 20');
  const admin = await adminClient(test);
  const tries = askAll(lane, 'lost');
  let terminated = 0;
  for (let turn = 0; turn < 100 && terminated === 0; turn += 1) {
    // Sessions of the lane that wait for the held key are in the middle of a group's statement.
    const { rowCount } = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE usename = 'card_auth_app' AND datname = current_database() AND wait_event = 'transactionid'`,
    );
    terminated = rowCount ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  expect(terminated).toBeGreaterThan(0);
  await holder.release();
  expect(await resultsOf(tries)).toEqual(allBut(-1, ''));
  expect(await rowsUnder('lost')).toBe(COMPANIONS);
});

it('an answer that is lost after the commit is found under our own key, and holds nothing twice', async () => {
  const before = await heldOnAll();
  let losses = 0;
  const lossy = await openLaneProcess(test, {
    connections: 4,
    storeOf: (repository): GroupStore => ({
      findStored: (members) => repository.findStored(members),
      place: async (members, lockWaitMsMax) => {
        const placements = await repository.place(members, lockWaitMsMax);
        if ((losses += 1) <= 3) throw new Error('Connection terminated unexpectedly');
        return placements;
      },
    }),
  });
  expect(await resultsOf(askAll(lossy, 'answer lost'))).toEqual(allBut(-1, ''));
  expect(losses).toBeGreaterThan(3);
  expect(await rowsUnder('answer lost')).toBe(COMPANIONS);
  const after = await heldOnAll();
  expect(after.map(({ held }, n) => Number(held) - Number(before[n]?.held))).toEqual(Array(COMPANIONS).fill(100));
  for (const { held, summed } of after) expect(held).toBe(summed);
});

it('no free connection is every member’s 503, and nothing of it is done', async () => {
  const small = await openLaneProcess(test, { connections: 1 });
  let release!: () => void;
  const held = small.database.transaction(() => new Promise<void>((resolve) => (release = resolve)));
  const results = await resultsOf(askAll(small, 'no connection'));
  release();
  await held;
  expect(new Set(results)).toEqual(new Set(['ERR_DATABASE_POOL_EXHAUSTED']));
  expect(await rowsUnder('no connection')).toBe(0);
  expect(await resultsOf(askAll(small, 'no connection'))).toEqual(allBut(-1, ''));
});

it('a statement that the server stops is divided once, within the execution limit', async () => {
  // statement_timeout is 200 ms here, shorter than the wait for a key.
  const hasty = await openLaneProcess(test, { connections: 3, executionMsMax: 700 });
  const holder = await holdKey('hasty 5');
  const startedAtMs = performance.now();
  const results = await resultsOf(askAll(hasty, 'hasty'));
  expect(performance.now() - startedAtMs).toBeLessThan(1_400);
  await holder.release();
  expect(results[5]).toBe('ERR_DATABASE_UNAVAILABLE');
  expect(results.filter((result) => result === '00').length).toBeGreaterThanOrEqual(COMPANIONS / 2 - 1);
  expect(await rowsUnder('hasty')).toBe(results.filter((result) => result === '00').length);
});

it('no fault leaves a session in a transaction', async () => {
  expect(await openTransactions(test)).toBe(0);
});
