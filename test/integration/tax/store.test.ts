import type { Client } from 'pg';
import { ProviderFailure } from '../../../src/lanes/tax/provider/provider-failure';
import type { StoredQuote } from '../../../src/lanes/tax/tax';
import type { KeyedAnswer } from '../../../src/ingress/idempotency.coordinator';
import type { PaymentError } from '../../../src/shared/problem';
import { keyed, openTaxProcess, quote, request, SlowProvider, type TaxProcess } from '../../fixtures/tax-lane';
import { eventually } from '../../support/http';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let one: TaxProcess;
let other: TaxProcess;
const provider = new SlowProvider();
const signal = new AbortController().signal;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('tax');
  one = await openTaxProcess(test, provider);
  other = await openTaxProcess(test, provider, { connections: 1, claimMs: 300 });
});

afterEach(async () => {
  provider.open.splice(0).forEach(({ reject }) => reject(new ProviderFailure('down', 'the test is over')));
  await owner.query('DELETE FROM quote_claims');
});

function ask(process: TaxProcess, key: string, payload = 'a'): Promise<KeyedAnswer<StoredQuote>> {
  return process.service.quote({ caller: 'checkout', keyed: keyed(key, payload), request, signal });
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    return (error as PaymentError).code;
  }
}

const called = (calls: number): Promise<void> =>
  eventually(`${calls} calls`, async () => provider.open.length === calls);

async function rows(table: string): Promise<number> {
  const { rows: counted } = await owner.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`);
  return counted[0]?.n ?? -1;
}

it('holds no connection while the provider is called', async () => {
  const calls = Array.from({ length: 10 }, (_, n) => ask(one, `no connection ${n}`));
  await called(10);
  expect(one.database.view()).toMatchObject({ busy: 0, waiting: 0, idle: 2 });
  const { rows: sessions } = await owner.query(
    `SELECT state FROM pg_stat_activity WHERE usename = 'tax_app' AND datname = current_database() AND state <> 'idle'`,
  );
  expect(sessions).toEqual([]);
  provider.answerAll();
  expect(new Set((await Promise.all(calls)).map(({ answer }) => answer.id)).size).toBe(10);
});

it('a key that another process works on: the answer if it comes within 250 ms, else 409', async () => {
  const first = ask(one, 'twins');
  await called(1);
  const late = ask(other, 'twins');
  expect(await codeOf(late)).toBe('ERR_IDEMPOTENCY_IN_FLIGHT');
  expect(await codeOf(ask(other, 'twins', 'another order'))).toBe('ERR_IDEMPOTENCY_KEY_REUSED');
  const soon = ask(other, 'twins');
  setTimeout(() => provider.answerAll(), 100);
  const [answered, replayed] = await Promise.all([first, soon]);
  expect([answered.replayed, replayed.replayed]).toEqual([false, true]);
  expect(replayed.answer).toEqual(answered.answer);
  expect(provider.open).toHaveLength(0);
});

it('a provider that fails gives the key free, for whatever order comes next', async () => {
  const failing = ask(one, 'failed');
  await called(1);
  provider.open.splice(0)[0]?.reject(new ProviderFailure('down', 'away'));
  expect(await codeOf(failing)).toBe('ERR_TAX_PROVIDER_UNAVAILABLE');
  await eventually('the claim is gone', async () => (await rows('quote_claims')) === 0);
  const again = ask(other, 'failed', 'another order');
  await called(1);
  provider.answerAll();
  expect((await again).replayed).toBe(false);
});

it('a process that was killed holds a key up no longer than its lease', async () => {
  const killed = ask(other, 'killed');
  killed.catch(() => undefined);
  await called(1);
  expect(await codeOf(ask(one, 'killed'))).toBe('ERR_IDEMPOTENCY_IN_FLIGHT');
  await owner.query(`UPDATE quote_claims SET leased_until = now() - interval '1 ms'`);
  const next = ask(one, 'killed');
  await called(2);
  provider.answerAll();
  const [slow, fast] = await Promise.all([killed, next]);
  // Both have called by then; one answer stands, and both are given that.
  expect(slow.answer.id).toBe(fast.answer.id);
  expect(await rows(`quotes WHERE id = '${fast.answer.id}'`)).toBe(1);
});

it('answers a quote that cannot be stored, and counts it', async () => {
  const call = ask(one, 'unstored');
  await called(1);
  await owner.query('REVOKE INSERT ON quotes FROM tax_app');
  provider.answerAll();
  const { answer, replayed } = await call;
  await owner.query('GRANT INSERT ON quotes TO tax_app');
  expect([answer.quote, replayed, one.unstored.length]).toEqual([quote, false, 1]);
  expect(await one.repository.find(answer.id, 'checkout')).toBeNull();
});

it('answers a quote within a second where the database hangs', async () => {
  const call = ask(one, 'hangs');
  await called(1);
  await owner.query('BEGIN');
  await owner.query('LOCK TABLE quotes IN ACCESS EXCLUSIVE MODE');
  provider.answerAll();
  const { answer } = await call;
  await owner.query('ROLLBACK');
  expect([answer.quote, one.unstored.length]).toEqual([quote, 2]);
});

it('finds a key across the turn to the next generation, and drops what is older than its life', async () => {
  const kept = ask(one, 'kept');
  await called(1);
  provider.answerAll();
  const { answer } = await kept;
  expect(await one.repository.rollGeneration(84)).toBeNull();
  await owner.query(`UPDATE quote_generations SET started_at = now() - interval '85 hours' WHERE sealed_at IS NULL`);
  // Another process may be reading just then; the lane tries again in a minute.
  let generation: number | null = null;
  await eventually('the turn', async () => {
    generation = await one.repository.rollGeneration(84).catch(() => null);
    return generation !== null;
  });
  const replay = await ask(other, 'kept');
  expect([replay.replayed, replay.answer]).toEqual([true, answer]);
  await owner.query(`UPDATE quote_generations SET sealed_at = now() - interval '8 days' WHERE sealed_at IS NOT NULL`);
  await eventually('the drop', async () => {
    await one.repository.rollGeneration(84).catch(() => null);
    return (await rows('quote_generations')) === 1;
  });
  expect(await one.repository.find(answer.id, 'checkout')).toBeNull();
});

it('removes the claims of processes that have long been gone, and no other', async () => {
  await owner.query(`
    INSERT INTO quote_claims SELECT sha256(age::text::bytea), sha256('order'), gen_random_uuid(), now() - age
    FROM unnest(ARRAY['61 minutes', '59 minutes', '-10 seconds']::interval[]) AS age`);
  await one.repository.purgeClaims();
  expect(await rows('quote_claims')).toBe(2);
  await owner.query(`DELETE FROM quote_claims`);
});

describe('estimates', () => {
  const served = (n: number, key = `estimate ${n}`) => ({
    id: `quo_${String(n).padStart(26, '0')}`,
    scopeHash: keyed(key).scopeHash,
    caller: 'checkout',
    request,
    estimate: {
      ...quote,
      rateScope: 'country' as const,
      certificateId: 'c',
      taxCodeIgnored: false,
    },
    servedAt: new Date(),
  });

  it('are one row for a key, whoever writes it, in whatever order', async () => {
    const many = Array.from({ length: 500 }, (_, n) => served(n));
    const [first, second] = await Promise.all([
      one.estimates.insert(many),
      other.estimates.insert([...many].reverse()),
    ]);
    expect([first.written + second.written, first.known + second.known, first.lost + second.lost]).toEqual([
      500, 500, 0,
    ]);
    expect(await rows('estimates')).toBe(500);
  });

  it('of another order under a key that has its row are counted as lost, also within one batch', async () => {
    expect(await one.estimates.insert([served(7), served(900, 'estimate 7')])).toEqual({
      written: 0,
      known: 1,
      lost: 1,
    });
    const twice = [served(901, 'a new key'), served(902, 'a new key')];
    expect(await one.estimates.insert(twice)).toEqual({ written: 1, known: 0, lost: 1 });
    await owner.query(`DELETE FROM estimates WHERE id > $1`, [served(499).id]);
  });

  it('are taken by one worker at a time, and by another when its lease is over', async () => {
    await owner.query(`DELETE FROM estimates WHERE id > $1`, [served(1).id]);
    const taken = await Promise.all([one, other, one].map(({ estimates }) => estimates.takeDue(30_000)));
    expect(
      taken
        .filter((due) => due !== null)
        .map(({ id }) => id)
        .sort(),
    ).toEqual([served(0).id, served(1).id]);
    await owner.query(`UPDATE estimates SET due_at = now() WHERE id = $1`, [served(0).id]);
    expect(await other.estimates.takeDue(30_000)).toEqual({
      id: served(0).id,
      request,
      taxMinor: 190,
      jurisdiction: 'DE',
      attempts: 2,
    });
  });

  it('wait for their next try; one that the provider’s trouble has cost does not count', async () => {
    const { id } = served(1);
    // Times are kept to the millisecond, so what is due now may be due in half of one.
    const takeDueNow = async (): Promise<{ attempts: number } | null> => {
      for (let tries = 0; tries < 20; tries += 1) {
        const taken = await one.estimates.takeDue(30_000);
        if (taken !== null) return taken;
      }
      return null;
    };
    await owner.query(`UPDATE estimates SET attempts = 2, due_at = now() WHERE id = $1`, [id]);
    expect((await takeDueNow())?.attempts).toBe(3);
    await one.estimates.postpone(id, 'late', 0, false);
    expect((await takeDueNow())?.attempts).toBe(3);
    await one.estimates.postpone(id, 'refused', 0, true);
    expect((await takeDueNow())?.attempts).toBe(4);
    await one.estimates.postpone(id, 'refused', 60_000, true);
    expect(await one.estimates.takeDue(30_000)).toBeNull();
    await one.estimates.fail(id, 'refused');
    expect((await one.estimates.find(id, 'checkout'))?.reconciliation).toMatchObject({
      status: 'FAILED',
      provider: null,
      differenceMinor: null,
      settledAt: expect.any(Date),
    });
  });

  it('show the difference, and are settled once', async () => {
    const { id } = served(0);
    const provider = { ...quote, taxMinor: 200 };
    expect([await one.estimates.settle(id, provider), await other.estimates.settle(id, quote)]).toEqual([true, false]);
    expect(await one.estimates.find(id, 'checkout')).toMatchObject({
      reconciliation: { status: 'RECONCILED', provider, differenceMinor: 10 },
    });
    expect(await one.estimates.find(id, 'another')).toBeNull();
  });

  it('are removed after their time', async () => {
    await owner.query(`UPDATE estimates SET served_at = now() - interval '91 days' WHERE id = $1`, [served(0).id]);
    expect(await one.estimates.purge(90, 10)).toBe(1);
    expect(await one.estimates.purge(90, 10)).toBe(0);
  });
});
