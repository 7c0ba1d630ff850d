import type { Client } from 'pg';
import type { AuthorizationRequest } from '../../../src/lanes/authorization/authorization';
import type { GroupObserver } from '../../../src/lanes/authorization/group-commit/group-observer';
import {
  addCards,
  addMerchants,
  heldOn,
  type LaneProcess,
  openLaneProcess,
  openTransactions,
  tryUntilAnswered,
} from '../../fixtures/authorization-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let one: LaneProcess;
let other: LaneProcess;
/** Statements that waited for a key until their lock_timeout, which two that wait for each other do. */
let lockTimeouts = 0;

function request(cardToken: string, amountMinor = 100): AuthorizationRequest {
  return { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD' };
}

function tally(results: readonly { result: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { result } of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

const observer: GroupObserver = {
  onFailure: (failure) => {
    if (failure === 'key_held') lockTimeouts += 1;
  },
};

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  [one, other] = await Promise.all([
    openLaneProcess(test, { connections: 15, observer }),
    openLaneProcess(test, { connections: 15, observer }),
  ]);
});

it('approves exactly 50 of 200 simultaneous tries against money for 50, and declines the rest with 51', async () => {
  await addCards(owner, { token: 'fifty', limitMinor: 5_000 });
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, n) => tryUntilAnswered(one.committer, `fifty ${n}`, request('fifty'))),
  );
  expect(tally(results)).toEqual({ '00': 50, '51': 150 });
  // Only 8 at a time are let near the card, so most of them were refused at first and came back under their key.
  expect(results.reduce((sum, { refusals }) => sum + refusals, 0)).toBeGreaterThan(100);
  expect(await heldOn(owner, 'fifty')).toEqual({ held: '5000', summed: '5000' });
});

it('approves exactly as many when two processes share the card', async () => {
  await addCards(owner, { token: 'shared', limitMinor: 5_000 });
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      tryUntilAnswered((n % 2 === 0 ? one : other).committer, `shared ${n}`, request('shared')),
    ),
  );
  expect(tally(results)).toEqual({ '00': 50, '51': 150 });
  expect(await heldOn(owner, 'shared')).toEqual({ held: '5000', summed: '5000' });
});

it('judges a card by what it holds when it is locked, not by what it held when the statement began', async () => {
  for (let round = 0; round < 40; round += 1) {
    const tokens = Array.from({ length: 20 }, (_, n) => `last ${round} ${n}`);
    await addCards(owner, ...tokens.map((token) => ({ token, limitMinor: 100 })));
    const results = await Promise.all(
      tokens.flatMap((token) =>
        [one, other].map(({ committer }, n) => tryUntilAnswered(committer, `${token} ${n}`, request(token))),
      ),
    );
    // From the statement's snapshot both would seem to fit, and the table's own check would make the second an error.
    expect(tally(results)).toEqual({ '00': 20, '51': 20 });
  }
});

it('never overspends one of many cards, whatever the interleaving of two processes', async () => {
  const tokens = Array.from({ length: 20 }, (_, n) => `many ${n}`);
  await addCards(owner, ...tokens.map((token) => ({ token, limitMinor: 1_050 })));
  const results = await Promise.all(
    tokens.flatMap((token) =>
      Array.from({ length: 30 }, async (_, n) => {
        await new Promise((resolve) => setTimeout(resolve, (n * 7) % 40));
        return tryUntilAnswered((n % 3 === 0 ? one : other).committer, `${token} ${n}`, request(token));
      }),
    ),
  );
  expect(tally(results)).toEqual({ '00': 200, '51': 400 });
  for (const token of tokens) expect(await heldOn(owner, token)).toEqual({ held: '1000', summed: '1000' });
});

it('lets one of two processes have each key, in whatever order they meet, without waiting for each other', async () => {
  const keys = Array.from({ length: 64 }, (_, n) => `key ${n}`);
  await addCards(owner, ...keys.flatMap((key) => [{ token: `one ${key}` }, { token: `other ${key}` }]));
  for (let round = 0; round < 30; round += 1) {
    const results = await Promise.all([
      ...keys.map((key) => tryUntilAnswered(one.committer, `${round} ${key}`, request(`one ${key}`))),
      ...[...keys]
        .reverse()
        .map((key) => tryUntilAnswered(other.committer, `${round} ${key}`, request(`other ${key}`))),
    ]);
    expect(tally(results)).toEqual({ '00': 64, key_reused: 64 });
  }
  const { rows } = await owner.query<{ count: string }>(
    `SELECT count(*) FROM cards JOIN authorizations a ON a.card_id = cards.id WHERE token LIKE '%key %'`,
  );
  expect(Number(rows[0]?.count)).toBe(30 * 64);
  expect(lockTimeouts).toBe(0);
});

it('answers the same request at two processes with the same authorization', async () => {
  const tokens = Array.from({ length: 40 }, (_, n) => `twin ${n}`);
  await addCards(owner, ...tokens.map((token) => ({ token })));
  const pairs = await Promise.all(
    tokens.map((token) =>
      Promise.all([one, other].map(({ committer }) => tryUntilAnswered(committer, token, request(token)))),
    ),
  );
  for (const [first, second] of pairs) {
    expect([first?.result, second?.result].sort()).toEqual(['00', 'replayed 00']);
    expect(first?.authorization).toEqual(second?.authorization);
  }
  for (const token of tokens) expect((await heldOn(owner, token)).held).toBe('100');
});

it('leaves no session in a transaction', async () => {
  expect(await openTransactions(test)).toBe(0);
});
