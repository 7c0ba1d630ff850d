import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type { Client } from 'pg';
import { storeEvaluation } from '../../../src/lanes/fraud/fraud.statements';
import type { LaneStore } from '../../../src/platform/database/statement';
import {
  factsSeenBy,
  fingerprint,
  type FraudProcess,
  type HistoryFacts,
  openFraudProcess,
  rowsOf,
  showingRules,
  taskOf,
} from '../../fixtures/fraud-lane';
import { expectedFacts, type RememberedAttempt, type ReferenceOptions } from '../../fixtures/fraud-reference';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let test: TestDatabase;
let owner: Client;
let lane: FraudProcess;
let other: FraudProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('fraud');
  lane = await openFraudProcess(test, { rules: showingRules });
  other = await openFraudProcess(test, { rules: showingRules });
});

function freshCard(): string {
  return fingerprint(randomUUID());
}

async function attempt(cardFingerprint: string, atMs: number, changes: object = {}): Promise<HistoryFacts> {
  return factsSeenBy(lane, taskOf(randomUUID(), { cardFingerprint, occurredAt: new Date(atMs), ...changes }));
}

describe('windows', () => {
  it.each([
    ['card_attempts_5m', 5 * MINUTE_MS],
    ['card_attempts_1h', HOUR_MS],
    ['card_attempts_24h', DAY_MS],
  ] as const)('%s: an attempt is out of it to the millisecond', async (fact, windowMs) => {
    const nowMs = Date.now();
    for (const [beforeMs, counted] of [
      [0, 1],
      [1, 1],
      [windowMs - 1, 1],
      [windowMs, 0],
      [windowMs + 1, 0],
    ] as const) {
      const card = freshCard();
      await attempt(card, nowMs - beforeMs);
      expect([beforeMs, (await attempt(card, nowMs))[fact]]).toEqual([beforeMs, counted]);
    }
  });

  it('do not hold what came after the payment, nor the payment itself', async () => {
    const card = freshCard();
    const nowMs = Date.now();
    await attempt(card, nowMs);
    expect(await attempt(card, nowMs - 1)).toMatchObject({ card_attempts_5m: 0, card_attempts_24h: 0 });
    expect(await attempt(card, nowMs + 1)).toMatchObject({ card_attempts_5m: 2, card_attempts_24h: 2 });
  });

  it('hold attempts of other weeks, in other partitions', async () => {
    const card = freshCard();
    const nowMs = Date.now();
    for (let day = 28; day > 0; day -= 1) await attempt(card, nowMs - day * DAY_MS, { amountMinor: 100 });
    const facts = await attempt(card, nowMs, { amountMinor: 300 });
    expect(facts).toMatchObject({ amount_samples: 28, amount_to_usual: 3, card_attempts_24h: 0, card_age_hours: 672 });
  });

  it('do not hold another card', async () => {
    await attempt(freshCard(), Date.now());
    expect(await attempt(freshCard(), Date.now())).toMatchObject({ card_attempts_24h: 0, country_new: false });
  });

  it('end at 250 attempts', async () => {
    const card = freshCard();
    const nowMs = Date.now();
    await attempt(card, nowMs - 1);
    await owner.query(
      `INSERT INTO attempts (card_id, occurred_at, amount_minor, currency, country, merchant_id, decision, evaluation_id)
       SELECT (SELECT id FROM cards WHERE fingerprint = $1), $2::timestamptz - n * interval '1 millisecond', 100, 'USD',
         'US', 'mer_demo_0001', 'APPROVE', gen_random_uuid()
       FROM generate_series(2, 249) n`,
      [Buffer.from(card, 'hex'), new Date(nowMs)],
    );
    for (const counted of [249, 250, 250]) {
      expect(await attempt(card, nowMs)).toMatchObject({ card_attempts_5m: counted, card_attempts_24h: counted });
    }
  });
});

describe('facts', () => {
  it('what was advised against is no sample of the usual amount, and is counted as a decline', async () => {
    const card = freshCard();
    const nowMs = Date.now();
    await attempt(card, nowMs - 3, { amountMinor: 100 });
    await attempt(card, nowMs - 2, { amountMinor: 666 });
    await attempt(card, nowMs - 1, { amountMinor: 100, currency: 'EUR' });
    expect(await attempt(card, nowMs, { amountMinor: 500 })).toMatchObject({
      amount_samples: 1,
      amount_to_usual: 5,
      card_declines_24h: 1,
      card_attempts_5m: 3,
    });
  });

  it('a country is new to a card that is known, until it was there', async () => {
    const card = freshCard();
    const nowMs = Date.now();
    expect((await attempt(card, nowMs - 3)).country_new).toBe(false);
    const abroad = { country: 'FR', merchantId: 'mer_demo_0002' };
    expect(await attempt(card, nowMs - 2, abroad)).toMatchObject({
      country_new: true,
      card_countries_24h: 1,
      card_merchants_1h: 1,
    });
    expect(await attempt(card, nowMs - 1, abroad)).toMatchObject({ country_new: false, card_countries_24h: 1 });
  });

  interface Step {
    readonly beforeMs: number;
    readonly amountMinor: number;
    readonly currency: string;
    readonly country: string;
    readonly merchantId: string;
  }
  const around = (ms: number): fc.Arbitrary<number> =>
    fc.integer({ min: -2, max: 2 }).map((by) => Math.max(0, ms + by));
  const step: fc.Arbitrary<Step> = fc.record({
    beforeMs: fc.oneof(
      around(0),
      around(5 * MINUTE_MS),
      around(HOUR_MS),
      around(DAY_MS),
      fc.integer({ min: 0, max: 28 * DAY_MS }),
    ),
    amountMinor: fc.constantFrom(1, 100, 250, 666, 1_000_000),
    currency: fc.constantFrom('USD', 'EUR'),
    country: fc.constantFrom('US', 'FR', 'DE'),
    merchantId: fc.constantFrom('mer_a', 'mer_b', 'mer_c'),
  });

  async function compare(steps: readonly Step[], options: ReferenceOptions = {}): Promise<void> {
    const card = freshCard();
    const nowMs = Date.now();
    const history: RememberedAttempt[] = [];
    for (const { beforeMs, ...rest } of steps) {
      const payment = { atMs: nowMs - beforeMs, ...rest };
      const facts = await attempt(card, payment.atMs, rest);
      expect(facts).toEqual(expectedFacts(history, payment, options));
      history.push({ ...payment, declined: rest.amountMinor === 666 });
    }
  }

  it('are those of a reference that shares no code, whatever the order in which payments come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => compare(steps)),
      { numRuns: 40 },
    );
  });

  it('and a window that is a millisecond too long is found out', async () => {
    const found = fc.check(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), (steps) =>
        compare(steps, { windowExcessMs: 1 }),
      ),
      { numRuns: 200, endOnFailure: true, seed: 7 },
    );
    expect((await found).failed).toBe(true);
  });
});

describe('side by side', () => {
  /** How many attempts each of `count` parallel evaluations of one card was judged by, sorted. */
  async function burst(processes: readonly FraudProcess[], count: number): Promise<number[]> {
    const card = freshCard();
    const occurredAt = new Date();
    const seen = await Promise.all(
      Array.from({ length: count }, (_, n) =>
        factsSeenBy(
          processes[n % processes.length] as FraudProcess,
          taskOf(randomUUID(), { cardFingerprint: card, occurredAt }),
        ),
      ),
    );
    return seen.map(({ card_attempts_5m }) => card_attempts_5m).sort((a, b) => a - b);
  }
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

  it('in one process no evaluation of a burst misses another', async () => {
    expect(await burst([lane], 40)).toEqual(upTo(40));
  });

  it('nor in two', async () => {
    for (let round = 0; round < 5; round += 1) expect(await burst([lane, other], 30)).toEqual(upTo(30));
  });

  it('which a statement that does not look at the card’s version would not do', async () => {
    const careless = { ...storeEvaluation, name: 'fraud_store_carelessly' };
    const text = storeEvaluation.text
      .replace('AND version = $6::bigint\n', '\n')
      .replace('ON CONFLICT (fingerprint) DO NOTHING', 'ON CONFLICT (fingerprint) DO UPDATE SET version = 1');
    expect(text).not.toBe(storeEvaluation.text);
    const storeOf = (database: LaneStore): LaneStore => ({
      transaction: (work) => database.transaction(work),
      query: (statement, values) =>
        database.query(statement === storeEvaluation ? { ...careless, text } : statement, values),
    });
    const processes = await Promise.all(
      [1, 2].map(() => openFraudProcess(test, { rules: showingRules, storeOf, connections: 3 })),
    );
    let missed = 0;
    for (let round = 0; round < 10; round += 1) {
      const seen = await burst(processes, 30);
      missed += new Set(seen).size < 30 ? 1 : 0;
    }
    expect(missed).toBeGreaterThan(0);
  });

  it('two processes given one key have one result, and one attempt', async () => {
    for (let round = 0; round < 20; round += 1) {
      const task = taskOf(randomUUID(), { cardFingerprint: freshCard() });
      const answers = await Promise.all([lane, other, lane, other].map(({ evaluator }) => evaluator.evaluate(task)));
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(answers.map(({ answer }) => JSON.stringify(answer))).size).toBe(1);
      expect(await rowsOf(owner, task.id)).toEqual({ evaluations: 1, attempts: 1 });
    }
  });

  it('two payloads under one key: one result, and the other is refused', async () => {
    for (let round = 0; round < 20; round += 1) {
      const key = randomUUID();
      const tasks = [taskOf(key, { cardFingerprint: freshCard() }), taskOf(key, { cardFingerprint: freshCard() })];
      const outcomes = await Promise.allSettled([
        lane.evaluator.evaluate(tasks[0] as never),
        other.evaluator.evaluate(tasks[1] as never),
      ]);
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(refused.map(({ reason }) => (reason as { code: string }).code)).toEqual(['ERR_IDEMPOTENCY_KEY_REUSED']);
      expect(await rowsOf(owner, (tasks[0] as { id: string }).id)).toEqual({ evaluations: 1, attempts: 1 });
    }
  });
});

it('a verdict that no rule has made is stored once too, and is an attempt', async () => {
  const task = taskOf(randomUUID(), { cardFingerprint: freshCard() });
  const verdict = {
    score: 50,
    decision: 'REVIEW' as const,
    reasons: [{ rule: 'overflow_expired', points: 50, text: 'It waited too long', facts: {} }],
  };
  const [closed, evaluated] = [await lane.evaluator.close(task, verdict), await lane.evaluator.evaluate(task)];
  expect([closed.replayed, evaluated.replayed]).toEqual([false, true]);
  expect(evaluated.answer).toEqual(closed.answer);
  expect(evaluated.answer).toMatchObject({ id: task.id, status: 'COMPLETED', caller: 'checkout', ...verdict });
  expect(await attempt(task.request.cardFingerprint, Date.now())).toMatchObject({ card_attempts_5m: 1 });
  expect(await rowsOf(owner, task.id)).toEqual({ evaluations: 1, attempts: 1 });
});
