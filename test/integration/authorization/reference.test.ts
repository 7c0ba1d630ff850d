import fc from 'fast-check';
import type { Client } from 'pg';
import { authorizationLimits } from '../../../config/lanes';
import { placeAuthorizations } from '../../../src/lanes/authorization/authorization.statements';
import { AuthorizationRepository } from '../../../src/lanes/authorization/authorization.repository';
import type { GroupCommitter } from '../../../src/lanes/authorization/group-commit/group-committer';
import type { GroupStore } from '../../../src/lanes/authorization/group-commit/group-store';
import type { AuthorizationOutcome } from '../../../src/lanes/authorization/group-commit/member';
import { CarelessCommitter } from '../../fixtures/authorization-careless-committer';
import {
  addMerchants,
  adminClient,
  type LaneProcess,
  openLaneProcess,
  scopeHash,
  tryUntilAnswered,
} from '../../fixtures/authorization-lane';
import { ReferenceAuthorizations, type ReferenceRequest } from '../../fixtures/authorization-reference';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

type Committer = Pick<GroupCommitter, 'authorize'>;

interface Card {
  readonly currency: string;
  readonly limitMinor: number;
  readonly singleLimitMinor: number;
  readonly status: 'ACTIVE' | 'BLOCKED' | 'LOST';
  readonly expired: boolean;
}

interface Ask {
  /** Few keys, so that many requests repeat one, with the same payload or another. */
  readonly key: number;
  /** Beyond the cards of the run: unknown. */
  readonly card: number;
  readonly amount: number;
  readonly merchant: 'mer_a' | 'mer_b' | 'mer_unknown';
  readonly currency: 'USD' | 'EUR';
}

const CARDS_MAX = 5;
const KEYS_MAX = 40;

const cards = fc.array(
  fc.record<Card>({
    currency: fc.constantFrom(...Array<string>(7).fill('USD'), 'EUR'),
    limitMinor: fc.integer({ min: 0, max: 300 }),
    singleLimitMinor: fc.integer({ min: 20, max: 120 }),
    status: fc.constantFrom(...Array<'ACTIVE'>(10).fill('ACTIVE'), 'BLOCKED', 'LOST'),
    expired: fc.constantFrom(...Array<boolean>(10).fill(false), true),
  }),
  { minLength: 2, maxLength: CARDS_MAX },
);

const ask = fc.record<Ask>({
  key: fc.integer({ min: 0, max: KEYS_MAX }),
  card: fc.integer({ min: 0, max: CARDS_MAX }),
  amount: fc.integer({ min: 1, max: 100 }),
  merchant: fc.constantFrom('mer_a', 'mer_a', 'mer_a', 'mer_a', 'mer_b', 'mer_b', 'mer_b', 'mer_unknown'),
  currency: fc.constantFrom('USD', 'USD', 'USD', 'USD', 'USD', 'USD', 'USD', 'EUR'),
});

/** Rounds of requests that arrive in the same tick: more for one card than it may have at a time would change the order. */
const rounds = fc.array(
  fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: ask.map((one) => [one]) },
        ask.map((one) => [one, one]),
      ),
      {
        minLength: 1,
        maxLength: 14,
      },
    )
    .map((some) => {
      const perCard = new Map<number, number>();
      return some.flat().filter(({ card }) => {
        const count = (perCard.get(card) ?? 0) + 1;
        perCard.set(card, count);
        return count <= authorizationLimits.executionsPerCardMax;
      });
    }),
  { minLength: 1, maxLength: 4 },
);

let test: TestDatabase;
let owner: Client;
let reference: ReferenceAuthorizations;
let lane: LaneProcess;
let runs = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  reference = new ReferenceAuthorizations(await adminClient(test));
  await reference.prepare();
  await addMerchants(owner, 'mer_a', 'mer_b');
  for (const merchant of ['mer_a', 'mer_b']) await reference.addMerchant(merchant);
  lane = await openLaneProcess(test, { connections: 4 });
});

async function addCardsOfRun(run: string, some: readonly Card[]): Promise<void> {
  for (const [index, card] of some.entries()) {
    await owner.query(
      `INSERT INTO cards (token, currency, limit_minor, transaction_limit_minor, status, expires_on)
       VALUES ($1, $2, $3, $4, $5, CASE WHEN $6 THEN date '2020-01-01' ELSE date '2099-01-01' END)`,
      [`${run} ${index}`, card.currency, card.limitMinor, card.singleLimitMinor, card.status, card.expired],
    );
    await reference.addCard(`${run} ${index}`, {
      currency: card.currency,
      spending_limit: String(card.limitMinor),
      single_limit: String(card.singleLimitMinor),
      status: card.status,
      expired: card.expired,
    });
  }
}

async function heldByLane(tokens: readonly string[]): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ token: string; held: string }>(
    `SELECT token, held_minor::text AS held FROM cards WHERE token = ANY ($1::text[])`,
    [tokens],
  );
  return Object.fromEntries(rows.map(({ token, held }) => [token, held]));
}

async function storedByLane(keys: readonly string[]): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ scope: string; line: string }>(
    `SELECT encode(k.scope_hash, 'hex') AS scope,
       concat_ws(' ', a.merchant_id, a.amount_minor, a.currency, a.response_code) AS line
     FROM idempotency_keys k JOIN authorizations a ON a.id = k.resource_id
     WHERE k.scope_hash = ANY ($1::bytea[])`,
    [keys.map((key) => scopeHash(key))],
  );
  const lines = new Map(rows.map(({ scope, line }) => [scope, line]));
  const known = keys.flatMap((key): [string, string][] => {
    const line = lines.get(scopeHash(key).toString('hex'));
    return line === undefined ? [] : [[key, line]];
  });
  return Object.fromEntries(known);
}

/** Runs the same requests through a committer, a round in one tick, and through the reference, one by one. */
async function agree(committer: Committer, some: readonly Card[], asked: readonly (readonly Ask[])[]): Promise<void> {
  const run = `run ${(runs += 1)}`;
  await addCardsOfRun(run, some);
  const requests = asked.map((round) =>
    round.map(({ key, card, amount, merchant, currency }): ReferenceRequest => ({
      key: `${run} ${key}`,
      card: `${run} ${card}`,
      amount,
      merchant,
      currency,
    })),
  );
  for (const round of requests) {
    const answers = await Promise.all(
      round.map(async (request) => {
        const { result } = await withinASecond(
          tryUntilAnswered(committer as GroupCommitter, request.key, {
            merchantId: request.merchant,
            cardToken: request.card,
            amountMinor: request.amount,
            currency: request.currency,
          }),
        );
        return result;
      }),
    );
    const expected: string[] = [];
    for (const request of round) expected.push(await reference.answer(request));
    expect(answers).toEqual(expected);
  }
  const tokens = some.map((_, index) => `${run} ${index}`);
  expect(await heldByLane(tokens)).toEqual(await reference.held(tokens));
  const keys = Array.from({ length: KEYS_MAX + 1 }, (_, key) => `${run} ${key}`);
  expect(await storedByLane(keys)).toEqual(await reference.stored(keys));
}

function withinASecond<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout;
  const late = new Promise<T>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Never answered')), 1_000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function property(committer: Committer) {
  return fc.asyncProperty(cards, rounds, (some, asked) => agree(committer, some, asked));
}

it('groups of authorizations leave the same answers and tables as one by one', async () => {
  await fc.assert(property(lane.committer), { numRuns: 60 });
});

describe('the property notices a committer that', () => {
  // A seed, so that each is caught in every run of this test; the property itself is tried with new ones each time.
  async function isCaught(committer: Committer): Promise<void> {
    const { failed } = await fc.check(property(committer), { numRuns: 300, endOnFailure: true, seed: 1 });
    expect(failed).toBe(true);
  }

  it('maps answers by position', async () => {
    const faulty = await openLaneProcess(test, {
      connections: 4,
      storeOf: (repository): GroupStore => ({
        findStored: (members) => repository.findStored(members),
        place: async (members, lockWaitMsMax) => {
          const placements = [...(await repository.place(members, lockWaitMsMax)).values()];
          // The rows come in the order of the keys; this one takes them to be in the order of arrival.
          const byArrival = [...members].sort((a, b) => a.enqueuedAtMs - b.enqueuedAtMs);
          return new Map(
            byArrival.flatMap((member, index) => (placements[index] ? [[member, placements[index]]] : [])),
          );
        },
      }),
    });
    await isCaught(faulty.committer);
  });

  it('puts a card twice into a group, where both are judged against the same open-to-buy', async () => {
    await isCaught(new CarelessCommitter(lane.repository));
  });

  it('ignores what is held already', async () => {
    const generous = await openLaneProcess(test, {
      connections: 4,
      storeOf: () =>
        new AuthorizationRepository({
          transaction: (work) => generous.database.transaction(work),
          query: (statement, values) =>
            generous.database.query(
              statement === placeAuthorizations
                ? { name: 'generous', text: statement.text.replace('l.limit_minor - l.held_minor', 'l.limit_minor') }
                : statement,
              values,
            ),
        }),
    });
    await isCaught(generous.committer);
  });

  it('drops twins: gives a second request under a key the first one’s answer, whatever it asks', async () => {
    const running = new Map<string, Promise<AuthorizationOutcome>>();
    await isCaught({
      authorize: async (authorization) => {
        const scope = authorization.keyed.scopeHash.toString('hex');
        const twin = running.get(scope);
        if (twin !== undefined) return twin.then((outcome) => ({ ...outcome, replayed: true }) as AuthorizationOutcome);
        const outcome = lane.committer.authorize(authorization);
        running.set(scope, outcome);
        return outcome.finally(() => running.delete(scope));
      },
    });
  });

  it('forgets twins: never answers the second', async () => {
    const running = new Set<string>();
    await isCaught({
      authorize: async (authorization) => {
        const scope = authorization.keyed.scopeHash.toString('hex');
        if (running.has(scope)) return new Promise<AuthorizationOutcome>(() => {});
        running.add(scope);
        return lane.committer.authorize(authorization).finally(() => running.delete(scope));
      },
    });
  });
});
