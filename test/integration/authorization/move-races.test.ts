import type { Client } from 'pg';
import type { MoveKind } from '../../../src/lanes/authorization/moves/move';
import { addCards, addMerchants, heldOn, openTransactions, tryOnce } from '../../fixtures/authorization-lane';
import {
  addAccounts,
  imbalances,
  letExpire,
  type MovesProcess,
  moveRequest,
  moveUntilAnswered,
  openMovesProcess,
  sumsOf,
  tryMove,
} from '../../fixtures/authorization-moves';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let one: MovesProcess;
let other: MovesProcess;
let names = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addAccounts(owner, 'USD', 'mer_a');
  [one, other] = await Promise.all([
    openMovesProcess(test, { connections: 12 }),
    openMovesProcess(test, { connections: 12 }),
  ]);
});

async function place(amountMinor = 100): Promise<{ id: string; card: string }> {
  const card = `card ${(names += 1)}`;
  await addCards(owner, { token: card });
  const { authorization } = await tryOnce(one.committer, card, {
    merchantId: 'mer_a',
    cardToken: card,
    amountMinor,
    currency: 'USD',
  });
  return { id: authorization?.rowId ?? '', card };
}

async function placeSeveral(howMany: number): Promise<{ id: string; card: string }[]> {
  const placed = [];
  for (let n = 0; n < howMany; n += 1) placed.push(await place());
  return placed;
}

async function capture(id: string, amount: number): Promise<string> {
  return (await tryMove(one.runner, { kind: 'capture', target: id, amount })).record?.rowId ?? '';
}

function count(results: readonly { result: string }[], result: string): number {
  return results.filter((tried) => tried.result === result).length;
}

/** Somebody who has locked a card or an authorization and does not end. */
async function hold(text: string): Promise<{ release(): Promise<void> }> {
  const holder = await test.ownerClient('authorization');
  await holder.query('BEGIN');
  await holder.query(text);
  return { release: async () => void (await holder.query('ROLLBACK')) };
}

it('captures of one authorization from two processes take exactly what there is', async () => {
  const { id, card } = await place();
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      moveUntilAnswered((n % 2 === 0 ? one : other).runner, { kind: 'capture', target: id, amount: 3 }),
    ),
  );
  expect(count(results, 'moved')).toBe(33);
  expect(count(results, 'ERR_AMOUNT_EXCEEDS_REMAINING')).toBe(7);
  expect(await heldOn(owner, card)).toEqual({ held: '100', summed: '100' });
});

it('captures and reversals that race share the rest, and never take it twice', async () => {
  for (let round = 0; round < 25; round += 1) {
    const { id, card } = await place();
    const [captured, reversed] = await Promise.all([
      moveUntilAnswered(one.runner, { kind: 'capture', target: id, amount: 60 }),
      moveUntilAnswered(other.runner, { kind: 'reversal', target: id }),
    ]);
    const left = captured.result === 'moved' ? '60' : '0';
    expect([left, reversed.result]).toEqual([left, 'moved']);
    expect(await sumsOf(owner, id)).toMatchObject({ captured: left, reversed: String(100 - Number(left)) });
    expect(await heldOn(owner, card)).toEqual({ held: left, summed: left });
  }
});

it('a capture and the sweep that race agree on who was first', async () => {
  const placed = await placeSeveral(40);
  await letExpire(owner, ...placed.slice(0, 20).map(({ id }) => id));
  const [results] = await Promise.all([
    Promise.all(
      placed.map(({ id }, n) =>
        moveUntilAnswered((n % 2 === 0 ? one : other).runner, { kind: 'capture', target: id, amount: 10 }),
      ),
    ),
    one.expiry.expire(100),
    other.expiry.expire(100),
    one.expiry.expire(100),
  ]);
  // What is past its time was never captured, whether the sweep had come by or not.
  expect(results.map(({ result }) => result)).toEqual(placed.map((_, n) => (n < 20 ? 'ERR_INVALID_STATE' : 'moved')));
  await one.expiry.expire(100);
  for (const { id } of placed.slice(0, 20))
    expect(await sumsOf(owner, id)).toMatchObject({ captured: '0', expired: '100' });
});

it('sweeps of several processes expire each authorization once', async () => {
  const placed = await placeSeveral(60);
  await letExpire(owner, ...placed.map(({ id }) => id));
  const batches = await Promise.all([one, other, one, other, one, other].map(({ expiry }) => expiry.expire(25)));
  let expired = batches.reduce((sum, batch) => sum + batch.expired, 0);
  for (let found = 1; found > 0;) {
    const batch = await one.expiry.expire(25);
    expired += batch.expired;
    found = batch.found;
  }
  expect(expired).toBe(60);
  for (const { card } of placed) expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
});

describe.each<MoveKind>(['capture', 'reversal', 'refund'])('twins of a %s', (kind) => {
  async function target(): Promise<string> {
    const { id } = await place();
    return kind === 'refund' ? capture(id, 100) : id;
  }

  it('in two processes take effect once, and both get that answer', async () => {
    for (let round = 0; round < 20; round += 1) {
      const asked = { kind, target: await target(), amount: 100, key: `twin ${round}` };
      const pair = await Promise.all([moveUntilAnswered(one.runner, asked), moveUntilAnswered(other.runner, asked)]);
      expect(pair.map(({ result }) => result).sort()).toEqual(['moved', 'replayed']);
      expect(pair[0].record).toEqual(pair[1].record);
    }
  });

  it('whose first is still running in another process are told so after the lock’s limit', async () => {
    const asked = { kind, target: await target(), amount: 100, key: 'running' };
    const { keyed } = moveRequest(asked);
    const holder = await test.ownerClient('authorization');
    await holder.query('BEGIN');
    await holder.query(
      `SELECT FROM authorizations a JOIN cards c ON c.id = a.card_id LEFT JOIN captures p ON p.authorization_id = a.id
       WHERE a.id = $1 OR p.id = $1 FOR NO KEY UPDATE OF a, c`,
      [asked.target],
    );
    await holder.query(
      `INSERT INTO idempotency_keys SELECT $1::bytea, generation, $1::bytea, gen_random_uuid(), now()
       FROM idempotency_generations WHERE sealed_at IS NULL`,
      [keyed.scopeHash],
    );
    expect((await tryMove(one.runner, asked)).result).toBe('in_flight');
    await holder.query('ROLLBACK');
    expect((await tryMove(one.runner, asked)).result).toBe('moved');
  });
});

describe('a card that is locked elsewhere', () => {
  it('is waited for 100 ms by what gives money back to it, then ERR_CARD_BUSY', async () => {
    const { id, card } = await place();
    const holder = await hold(`SELECT FROM cards WHERE token = '${card}' FOR NO KEY UPDATE`);
    const startedAt = performance.now();
    expect((await tryMove(one.runner, { kind: 'reversal', target: id })).result).toBe('ERR_CARD_BUSY');
    const elapsedMs = performance.now() - startedAt;
    expect(elapsedMs).toBeGreaterThan(95);
    expect(elapsedMs).toBeLessThan(1_500);
    await holder.release();
    expect((await tryMove(one.runner, { kind: 'reversal', target: id })).result).toBe('moved');
  });

  it('does not hold up a capture, which changes nothing of it', async () => {
    const { id, card } = await place();
    const holder = await hold(`SELECT FROM cards WHERE token = '${card}' FOR NO KEY UPDATE`);
    expect((await tryMove(one.runner, { kind: 'capture', target: id, amount: 10 })).result).toBe('moved');
    await holder.release();
  });

  it('holds eight connections of a process at most: the others are refused at once', async () => {
    const { card } = await place();
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { authorization } = await tryOnce(one.committer, `${card} ${n}`, {
        merchantId: 'mer_a',
        cardToken: card,
        amountMinor: 1,
        currency: 'USD',
      });
      ids.push(authorization?.rowId ?? '');
    }
    const holder = await hold(`SELECT FROM cards WHERE token = '${card}' FOR NO KEY UPDATE`);
    let early = 0;
    let over = false;
    const tries = ids.map((target) =>
      tryMove(one.runner, { kind: 'reversal', target }).then(({ result }) => {
        if (!over) early += 1;
        return result;
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 60));
    over = true;
    expect(early).toBe(4);
    expect(one.runner.lockWaiters).toBe(8);
    expect(await Promise.all(tries)).toEqual(ids.map(() => 'ERR_CARD_BUSY'));
    expect(one.runner.lockWaiters).toBe(0);
    await holder.release();
  });

  it('does not hold up the expiry of others, and expires itself when it is free', async () => {
    const [locked, free] = [await place(), await place()];
    await letExpire(owner, locked.id, free.id);
    const holder = await hold(`SELECT FROM cards WHERE token = '${locked.card}' FOR NO KEY UPDATE`);
    expect(await one.expiry.expire(100)).toEqual({ found: 2, expired: 1 });
    expect(await one.expiry.expireOldest()).toEqual({ found: 1, expired: 0 });
    await holder.release();
    expect(await one.expiry.expireOldest()).toEqual({ found: 1, expired: 1 });
  });
});

it('moves and group commits on the same few cards neither deadlock nor lose money', async () => {
  const card = `card ${(names += 1)}`;
  await addCards(owner, { token: card, limitMinor: 500 });
  const deadlocks = async (): Promise<number> => {
    const { rows } = await owner.query<{ deadlocks: string }>(
      `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`,
    );
    return Number(rows[0]?.deadlocks);
  };
  const before = await deadlocks();
  const actor = async (process: MovesProcess, n: number): Promise<void> => {
    for (let turn = 0; turn < 12; turn += 1) {
      const { authorization, result } = await tryOnce(process.committer, `${card} ${n} ${turn}`, {
        merchantId: 'mer_a',
        cardToken: card,
        amountMinor: 40,
        currency: 'USD',
      });
      expect(['00', '51', 'ERR_CARD_BUSY']).toContain(result);
      if (authorization === null || result !== '00') continue;
      const taken = await moveUntilAnswered(process.runner, {
        kind: 'capture',
        target: authorization.rowId,
        amount: 15,
      });
      await moveUntilAnswered(process.runner, { kind: 'reversal', target: authorization.rowId });
      await moveUntilAnswered(process.runner, { kind: 'refund', target: taken.record?.rowId ?? '', amount: 15 });
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => actor(n % 2 === 0 ? one : other, n)));
  expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
  expect(await deadlocks()).toBe(before);
});

it('after all of this every sum is right, and no session sits in a transaction', async () => {
  expect(await imbalances(owner)).toEqual([]);
  expect(await openTransactions(test)).toBe(0);
});
