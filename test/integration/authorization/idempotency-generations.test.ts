import type { Client } from 'pg';
import { sqlStateOf } from '../../../src/platform/database/driver-errors';
import type { AuthorizationRequest } from '../../../src/lanes/authorization/authorization';
import {
  addCards,
  addMerchants,
  type LaneProcess,
  openLaneProcess,
  scopeHash,
  tryOnce,
  tryUntilAnswered,
} from '../../fixtures/authorization-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: LaneProcess;
let other: LaneProcess;

function request(cardToken: string, amountMinor = 100): AuthorizationRequest {
  return { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD' };
}

async function generationsOf(key: string): Promise<number[]> {
  const { rows } = await owner.query<{ generation: number }>(
    `SELECT generation FROM idempotency_keys WHERE scope_hash = $1 ORDER BY generation`,
    [scopeHash(key)],
  );
  return rows.map(({ generation }) => generation);
}

async function currentGeneration(): Promise<number> {
  const { rows } = await owner.query<{ generation: number }>(
    `SELECT generation FROM idempotency_generations WHERE sealed_at IS NULL`,
  );
  return rows[0]?.generation ?? 0;
}

async function partitions(): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
     WHERE inhparent = 'idempotency_keys'::regclass ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

/** A busy table is not waited for longer than 100 ms; the lane's timer tries again later, a test at once. */
async function rollNow(process: LaneProcess): Promise<number | null> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      return await process.repository.rollGeneration(0);
    } catch (error) {
      if (sqlStateOf(error) !== '55P03') throw error;
    }
  }
  throw new Error('The table was never free');
}

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addCards(owner, ...Array.from({ length: 100 }, (_, n) => ({ token: `card ${n}`, limitMinor: 10_000_000 })));
  [lane, other] = await Promise.all([
    openLaneProcess(test, { connections: 12 }),
    openLaneProcess(test, { connections: 12 }),
  ]);
  // So that the connections have made their generic plans, which is what the turns below must get along with.
  for (let n = 0; n < 30; n += 1) await tryOnce(lane.committer, `warm ${n}`, request(`card ${n}`));
});

it('a generation is turned only when it is old enough', async () => {
  expect(await lane.repository.rollGeneration(84)).toBeNull();
  expect(await partitions()).toEqual(['idempotency_keys_1']);
});

it('a key of the sealed generation is still taken, and new ones go into the new generation', async () => {
  const first = await tryOnce(lane.committer, 'before', request('card 1'));
  const before = await currentGeneration();
  expect(await rollNow(lane)).toBe(before + 1);
  const again = await tryOnce(lane.committer, 'before', request('card 1'));
  expect(again).toEqual({ result: 'replayed 00', authorization: first.authorization });
  expect((await tryOnce(lane.committer, 'before', request('card 1', 101))).result).toBe('key_reused');
  expect((await tryOnce(lane.committer, 'after', request('card 1'))).result).toBe('00');
  expect([await generationsOf('before'), await generationsOf('after')]).toEqual([[before], [before + 1]]);
});

it('a statement that waited for the turn sees the new generation: its snapshot is taken after its lock', async () => {
  const before = await currentGeneration();
  const turning = await test.ownerClient('authorization');
  await turning.query(`BEGIN; SELECT roll_idempotency_generation('0')`);
  const tries = Array.from({ length: 20 }, (_, n) => tryOnce(lane.committer, `waiting ${n}`, request(`card ${n}`)));
  await new Promise((resolve) => setTimeout(resolve, 60));
  await turning.query('COMMIT');
  const results = await Promise.all(tries);
  expect(new Set(results.map(({ result }) => result))).toEqual(new Set(['00']));
  for (let n = 0; n < 20; n += 1) expect(await generationsOf(`waiting ${n}`)).toEqual([before + 1]);
});

it('the turn waits for a writer under way, whose key is then seen by all that waited behind the turn', async () => {
  const before = await currentGeneration();
  const writer = await test.ownerClient('authorization');
  await writer.query('BEGIN');
  await writer.query(`INSERT INTO idempotency_keys VALUES ($1, $2, $1, gen_random_uuid(), now())`, [
    scopeHash('under way'),
    before,
  ]);
  const turned = rollNow(lane);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const behind = tryOnce(other.committer, 'under way', request('card 5'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  await writer.query('COMMIT');
  expect(await turned).toBe(before + 1);
  // The writer's row names no authorization, so there is no answer to give; that nothing was placed is the point.
  expect((await behind).result).toBe('in_flight');
  expect(await generationsOf('under way')).toEqual([before]);
});

it('the turn gives a busy table up after 100 ms, and cards go on', async () => {
  const writer = await test.ownerClient('authorization');
  await writer.query('BEGIN');
  await writer.query(`INSERT INTO idempotency_keys VALUES ($1, $2, $1, gen_random_uuid(), now())`, [
    scopeHash('busy'),
    await currentGeneration(),
  ]);
  const turned = lane.repository.rollGeneration(0).catch(sqlStateOf);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const behind = tryOnce(other.committer, 'behind the turn', request('card 6'));
  expect(await turned).toBe('55P03');
  expect((await behind).result).toBe('00');
  await writer.query('ROLLBACK');
});

it('each key acts once while generations turn under the traffic of two processes', async () => {
  const keyCount = 400;
  let rolling = true;
  const turns = (async () => {
    let turned = 0;
    while (rolling) {
      if ((await rollNow(turned % 2 === 0 ? lane : other)) !== null) turned += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return turned;
  })();
  const results = await Promise.all(
    Array.from({ length: keyCount * 3 }, async (_, n) => {
      const key = n % keyCount;
      await new Promise((resolve) => setTimeout(resolve, (n * 31) % 700));
      return tryUntilAnswered((n % 2 === 0 ? lane : other).committer, `turning ${key}`, request(`card ${key % 100}`));
    }),
  );
  rolling = false;
  expect(await turns).toBeGreaterThan(5);
  expect(results.filter(({ result }) => result === '00')).toHaveLength(keyCount);
  expect(results.filter(({ result }) => result === 'replayed 00')).toHaveLength(keyCount * 2);
  const { rows } = await owner.query<{ keys: string; rows: string }>(
    `SELECT count(DISTINCT scope_hash) AS keys, count(*) AS rows FROM idempotency_keys
     WHERE scope_hash = ANY ($1::bytea[])`,
    [Array.from({ length: keyCount }, (_, n) => scopeHash(`turning ${n}`))],
  );
  expect(rows[0]).toEqual({ keys: String(keyCount), rows: String(keyCount) });
});

it('many processes turn it once', async () => {
  const before = await currentGeneration();
  await owner.query(
    `UPDATE idempotency_generations SET started_at = now() - interval '85 hours' WHERE sealed_at IS NULL`,
  );
  const turned = await Promise.allSettled(
    [lane, other, lane, other, lane].map(({ repository }) => repository.rollGeneration(84)),
  );
  const numbers = turned.map((result) => (result.status === 'fulfilled' ? result.value : 'refused'));
  expect(numbers.filter((number) => number === before + 1)).toHaveLength(1);
  expect(await currentGeneration()).toBe(before + 1);
});

it('a generation sealed 7 days ago is dropped, one sealed a moment less is kept', async () => {
  await tryOnce(lane.committer, 'old', request('card 7'));
  await rollNow(lane);
  await tryOnce(lane.committer, 'young', request('card 7'));
  await rollNow(lane);
  const current = await currentGeneration();
  await owner.query(`DELETE FROM idempotency_generations WHERE generation < $1`, [current - 2]);
  await owner.query(
    `UPDATE idempotency_generations SET sealed_at = now() - CASE generation
       WHEN $1 - 2 THEN interval '7 days' ELSE interval '7 days' - interval '1 minute' END
     WHERE generation < $1`,
    [current],
  );
  expect(await lane.repository.rollGeneration(84)).toBeNull();
  expect(await partitions()).not.toContain(`idempotency_keys_${current - 2}`);
  expect(await partitions()).toEqual(
    expect.arrayContaining([`idempotency_keys_${current - 1}`, `idempotency_keys_${current}`]),
  );
  expect((await tryOnce(lane.committer, 'young', request('card 7'))).result).toBe('replayed 00');
  expect((await tryOnce(lane.committer, 'old', request('card 7'))).result).toBe('00');
});

it('a key older than 7 days is free again, though its generation still stands', async () => {
  await tryOnce(lane.committer, 'aged', request('card 8'));
  await rollNow(lane);
  await owner.query(`UPDATE idempotency_keys SET created_at = now() - interval '7 days' WHERE scope_hash = $1`, [
    scopeHash('aged'),
  ]);
  expect((await tryOnce(lane.committer, 'aged', request('card 8', 5))).result).toBe('00');
  expect((await tryOnce(lane.committer, 'aged', request('card 8', 5))).result).toBe('replayed 00');
  expect(await generationsOf('aged')).toHaveLength(2);
});

it('a spent generation that somebody works on does not hold the turn up', async () => {
  await rollNow(lane);
  const current = await currentGeneration();
  await owner.query(`UPDATE idempotency_generations SET sealed_at = now() - interval '8 days' WHERE generation = $1`, [
    current - 1,
  ]);
  const vacuum = await test.ownerClient('authorization');
  await vacuum.query(`BEGIN; LOCK TABLE idempotency_keys_${current - 1} IN SHARE UPDATE EXCLUSIVE MODE`);
  expect(await rollNow(lane)).toBe(current + 1);
  expect(await partitions()).toContain(`idempotency_keys_${current - 1}`);
  await vacuum.query('COMMIT');
  expect(await lane.repository.rollGeneration(84)).toBeNull();
  expect(await partitions()).not.toContain(`idempotency_keys_${current - 1}`);
});

it('a key that the current generation holds beyond 7 days is answered all the same', async () => {
  const first = await tryOnce(lane.committer, 'overdue', request('card 9'));
  await owner.query(`UPDATE idempotency_keys SET created_at = now() - interval '9 days' WHERE scope_hash = $1`, [
    scopeHash('overdue'),
  ]);
  const again = await tryOnce(lane.committer, 'overdue', request('card 9'));
  expect(again).toEqual({ result: 'replayed 00', authorization: first.authorization });
});
