import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { sqlStateOf } from '../../../src/platform/database/driver-errors';
import {
  factsSeenBy,
  fingerprint,
  type FraudProcess,
  openFraudProcess,
  rowsOf,
  showingRules,
  taskOf,
} from '../../fixtures/fraud-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const DAY_MS = 86_400_000;

let test: TestDatabase;
let owner: Client;
let lane: FraudProcess;
let other: FraudProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('fraud');
  await owner.query(`SET timezone = 'UTC'`);
  lane = await openFraudProcess(test, { rules: showingRules });
  other = await openFraudProcess(test, { rules: showingRules });
  // So that the connections have made their generic plans, which is what the turns below must get along with.
  for (let n = 0; n < 30; n += 1) await lane.evaluator.evaluate(taskOf(`warm ${n}`));
});

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY name`,
    [table],
  );
  return rows.map(({ name }) => name);
}

/** A busy table is not waited for longer than 100 ms; the lane's timer tries again later, a test at once. */
async function patiently<T>(roll: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      return await roll();
    } catch (error) {
      if (sqlStateOf(error) !== '55P03') throw error;
    }
  }
  throw new Error('The table was never free');
}

describe('results', () => {
  it('turn to a new generation only when theirs is old enough', async () => {
    expect(await lane.repository.rollGeneration(84)).toBeNull();
    expect(await partitionsOf('evaluations')).toEqual(['evaluations_1']);
  });

  it('of a sealed generation still stand under their key, and can be read', async () => {
    const task = taskOf('before', { cardFingerprint: fingerprint('sealed') });
    const first = await lane.evaluator.evaluate(task);
    expect(await patiently(() => lane.repository.rollGeneration(0))).toBe(2);
    for (const process of [lane, other]) {
      expect(await process.evaluator.evaluate(task)).toEqual({ answer: first.answer, replayed: true });
      expect(await process.repository.find(task.id)).toEqual(first.answer);
      const reused = { ...task, payloadHash: Buffer.alloc(32, 1) };
      await expect(process.evaluator.evaluate(reused)).rejects.toMatchObject({ code: 'ERR_IDEMPOTENCY_KEY_REUSED' });
    }
    expect(await rowsOf(owner, task.id)).toEqual({ evaluations: 1, attempts: 1 });
  });

  it('are gone with their generation after 7 days, and the key is free', async () => {
    const task = taskOf('old', { cardFingerprint: fingerprint('old') });
    await lane.evaluator.evaluate(task);
    await patiently(() => lane.repository.rollGeneration(0));
    await owner.query(`UPDATE evaluation_generations SET sealed_at = now() - interval '7 days' + interval '1 minute'
      WHERE sealed_at IS NOT NULL`);
    expect(await lane.repository.rollGeneration(84)).toBeNull();
    expect((await lane.evaluator.evaluate(task)).replayed).toBe(true);
    await owner.query(`UPDATE evaluation_generations SET sealed_at = sealed_at - interval '2 minutes'
      WHERE sealed_at IS NOT NULL`);
    await patiently(() => lane.repository.rollGeneration(84));
    expect(await partitionsOf('evaluations')).toEqual(['evaluations_3']);
    expect(await lane.repository.find(task.id)).toBeNull();
    expect((await lane.evaluator.evaluate(task)).replayed).toBe(false);
  });

  it('have one each however the turn falls among them', async () => {
    for (let round = 0; round < 10; round += 1) {
      const tasks = Array.from({ length: 12 }, (_, n) =>
        taskOf(`turn ${round} ${n}`, { cardFingerprint: fingerprint(`${n}`) }),
      );
      const evaluating = tasks.flatMap((task) => [lane, other].map(({ evaluator }) => evaluator.evaluate(task)));
      const rolling = patiently(() => lane.repository.rollGeneration(0));
      const answers = await Promise.all(evaluating);
      await rolling;
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(tasks.length);
      for (const { id } of tasks) expect(await rowsOf(owner, id)).toEqual({ evaluations: 1, attempts: 1 });
    }
  });
});

describe('history', () => {
  const monday = (weeks: number): string => {
    const now = new Date();
    const dayOfWeek = (now.getUTCDay() + 6) % 7;
    const day = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - dayOfWeek + 7 * weeks);
    return `attempts_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`;
  };

  it('has a place for every moment that a payment may have', async () => {
    for (const days of [0, 1, 6, 7, 8, 13, 14, 21, 28, 29, 30]) {
      const occurredAt = new Date(Date.now() - days * DAY_MS);
      await factsSeenBy(lane, taskOf(randomUUID(), { occurredAt, cardFingerprint: fingerprint(`day ${days}`) }));
    }
    const ahead = new Date(Date.now() + 5 * 60_000);
    await factsSeenBy(lane, taskOf(randomUUID(), { occurredAt: ahead, cardFingerprint: fingerprint('ahead') }));
  });

  it('is made from five weeks back to four weeks ahead, once', async () => {
    expect(await partitionsOf('attempts')).toEqual(Array.from({ length: 10 }, (_, n) => monday(n - 5)).sort());
    expect(await lane.repository.rollAttempts()).toBeNull();
  });

  it('makes what is missing, however many processes ask at once', async () => {
    await owner.query(`DROP TABLE ${monday(4)}, ${monday(3)}`);
    const made = await Promise.all(
      [lane, other, lane, other].map(({ repository }) => patiently(() => repository.rollAttempts())),
    );
    expect(made.filter((weeks) => weeks === 2)).toHaveLength(1);
    expect((await partitionsOf('attempts')).at(-1)).toBe(monday(4));
  });

  it('drops a week when all of it is older than 13, and not before', async () => {
    for (const weeks of [-15, -14, -13]) {
      const [from, to] = [monday(weeks), monday(weeks + 1)].map((name) =>
        name.replace(/^attempts_(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3'),
      );
      await owner.query(`CREATE TABLE ${monday(weeks)} PARTITION OF attempts FOR VALUES FROM ('${from}') TO ('${to}')`);
    }
    expect(await patiently(() => lane.repository.rollAttempts())).toBe(2);
    const left = await partitionsOf('attempts');
    expect(left).toContain(monday(-13));
    expect(left).not.toContain(monday(-14));
    expect(left).not.toContain(monday(-15));
  });

  it('rolls under load and fails no evaluation', async () => {
    await owner.query(`DROP TABLE ${monday(4)}`);
    const evaluations = Array.from({ length: 100 }, (_, n) =>
      lane.evaluator.evaluate(taskOf(randomUUID(), { cardFingerprint: fingerprint(`load ${n % 10}`) })),
    );
    const [rolled] = await Promise.all([patiently(() => other.repository.rollAttempts()), ...evaluations]);
    expect(rolled).toBe(1);
  });
});

describe('the running lane', () => {
  it.each([
    [`UPDATE evaluations SET score = 0`],
    [`DELETE FROM evaluations`],
    [`UPDATE attempts SET decision = 'APPROVE'`],
    [`DELETE FROM attempts`],
    [`UPDATE cards SET fingerprint = sha256('x')`],
    [`DELETE FROM cards`],
    [`UPDATE merchant_risks SET risk = 'LOW'`],
    [`DROP TABLE ${'attempts'}`],
    [`CREATE TABLE more (id integer)`],
    [`UPDATE evaluation_generations SET sealed_at = NULL`],
  ])('may not %s', async (text) => {
    await expect(lane.database.query({ name: text.slice(0, 60), text }, [])).rejects.toMatchObject({ code: '42501' });
  });

  it.each([
    ['score', 101],
    ['score', -1],
    ['decision', 'MAYBE'],
    ['reasons', '{}'],
  ])('stores no %s of %s', async (column, value) => {
    const values = { score: 0, decision: 'APPROVE', reasons: '[]', [column]: value };
    await expect(
      owner.query(
        `INSERT INTO evaluations (generation, id, caller, merchant_id, payload_hash, score, decision, reasons, rules_hash, created_at)
         SELECT generation, gen_random_uuid(), 'c', 'm', sha256('p'), $1, $2, $3::json, sha256('r'), now()
         FROM evaluation_generations WHERE sealed_at IS NULL`,
        [values.score, values.decision, values.reasons],
      ),
    ).rejects.toMatchObject({ code: '23514' });
  });
});
