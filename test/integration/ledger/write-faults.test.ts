import type { Client, DatabaseError } from 'pg';
import type { LedgerItem } from '../../../src/lanes/ledger/ledger';
import { JournalRepository } from '../../../src/lanes/ledger/write/journal.repository';
import { insertEntries } from '../../../src/lanes/ledger/write/journal.statements';
import {
  journalOf,
  ledgerItem,
  type LedgerProcess,
  openLedgerProcess,
  resultOf,
  send,
} from '../../fixtures/ledger-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { databaseProblems } from '../../../src/platform/database/database.problems';
import { PaymentError } from '../../../src/shared/problem';
import { until } from '../platform/until';

let test: TestDatabase;
let owner: Client;
let lane: LedgerProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('ledger');
  lane = await openLedgerProcess(test, { connections: 3 });
});

function items(name: string, count: number, changes: (n: number) => Partial<LedgerItem> = () => ({})): LedgerItem[] {
  return Array.from({ length: count }, (_, n) => ledgerItem(`${name} ${n}`, changes(n)));
}

function results(outcomes: Awaited<ReturnType<typeof send>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[resultOf(outcome)] = (counts[resultOf(outcome)] ?? 0) + 1;
  return counts;
}

describe('poison', () => {
  it('498 good and 2 bad: 498 are committed, 2 fail with their own codes, and all in their places', async () => {
    const all = items('498+2', 500);
    all[17] = ledgerItem('498+2 \0 bad');
    all[400] = ledgerItem('498+2 nobody', { accountId: 'ACC-NOBODY' });
    const before = lane.counts.statements;
    const outcomes = await send(lane.buffer, all);
    expect([outcomes[17]!, outcomes[400]!].map(resultOf)).toEqual(['ERR_INVALID_TEXT', 'ERR_INVALID_ACCOUNT_ID']);
    expect(outcomes.filter((_, n) => n !== 17 && n !== 400).every((outcome) => resultOf(outcome) === 'new')).toBe(true);
    const stored = new Map((await journalOf(owner, '498+2')).map(({ key, id }) => [key, id]));
    outcomes.forEach((outcome, n) => {
      const expected = outcome.status === 'COMMITTED' ? outcome.entryId : undefined;
      expect(stored.get(all[n]!.idempotencyKey)).toBe(expected);
    });
    expect(lane.counts.statements - before).toBeLessThan(60);
  });

  it.each([1, 2, 3])('of %i rows that are all bad each stands alone in the end', async (count) => {
    const outcomes = await send(
      lane.buffer,
      items(`all bad ${count}`, count).map(({ externalTransactionId }) => ledgerItem(`${externalTransactionId}\0`)),
    );
    expect(results(outcomes)).toEqual({ ERR_INVALID_TEXT: count });
  });

  it('500 bad rows are found within two statements a row, and hold up nobody else', async () => {
    const bad = items('all of 500', 500).map(({ externalTransactionId }) => ledgerItem(`${externalTransactionId}\0`));
    const before = lane.counts.statements;
    let poisonEnded = false;
    const poison = send(lane.buffer, bad, 'poisoner').finally(() => (poisonEnded = true));
    const good = await send(lane.buffer, items('meanwhile', 500), 'other');
    expect(poisonEnded).toBe(false);
    expect(results(good)).toEqual({ new: 500 });
    expect(results(await poison)).toEqual({ ERR_INVALID_TEXT: 500 });
    expect(lane.counts.statements - before).toBeLessThanOrEqual(2 * 500 + 16 + 2);
  });

  it('a row that a trigger refuses is nobody else’s fault, and its key may succeed later', async () => {
    await owner.query(`
      CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.amount_minor = 666 THEN RAISE EXCEPTION 'poison'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER poison BEFORE INSERT ON ledger_journal FOR EACH ROW EXECUTE FUNCTION poison()`);
    const all = items('trigger', 9, (n) => (n === 4 ? { amountMinor: 666 } : {}));
    expect((await send(lane.buffer, all)).map(resultOf)).toEqual(
      all.map((_, n) => (n === 4 ? 'ERR_MALFORMED_ITEM' : 'new')),
    );
    await owner.query('DROP TRIGGER poison ON ledger_journal');
    expect((await send(lane.buffer, all)).map(resultOf)).toEqual(all.map((_, n) => (n === 4 ? 'new' : 'duplicate')));
  });

  it('a row that cannot even be sent stands alone as well', async () => {
    const all = items('unsendable', 7, (n) => (n === 2 ? { amountMinor: 0.5 } : {}));
    all[5] = ledgerItem('unsendable key', { idempotencyKey: 'no hex' });
    expect((await send(lane.buffer, all)).map(resultOf)).toEqual(
      all.map((_, n) => (n === 2 || n === 5 ? 'ERR_MALFORMED_ITEM' : 'new')),
    );
  });

  it('a failure that nobody foresaw is never taken for success, nor for nothing written', async () => {
    let faults = 0;
    const odd = await openLedgerProcess(test, {
      connections: 3,
      limits: { outcomeMsMax: 400 },
      journalOf: (right) => ({
        lookUp: (rows) => right.lookUp(rows),
        insert: async (rows, attempt) => {
          await right.insert(rows, attempt);
          faults += 1;
          throw new TypeError('Cannot read properties of undefined');
        },
      }),
    });
    expect(results(await send(odd.buffer, items('odd', 3)))).toEqual({ ERR_OUTCOME_UNKNOWN: 3 });
    expect(faults).toBeGreaterThan(1);
    await until(() => odd.buffer.flushesInFlight === 0);
    await odd.close();
    expect(results(await send(lane.buffer, items('odd', 3)))).toEqual({ duplicate: 3 });
  });

  it('a fault of the schema is no item’s: all may be sent again, and nothing is divided', async () => {
    await owner.query('ALTER TABLE ledger_numbering RENAME TO elsewhere');
    const before = lane.counts.statements;
    const outcomes = await send(lane.buffer, items('broken', 20));
    await owner.query('ALTER TABLE elsewhere RENAME TO ledger_numbering');
    expect(results(outcomes)).toEqual({ ERR_STORE_UNAVAILABLE: 20 });
    expect(lane.counts.statements - before).toBe(1);
    expect(results(await send(lane.buffer, items('broken', 20)))).toEqual({ new: 20 });
  });
});

describe('the state of accounts', () => {
  it('is decided after the key: what is in the journal is answered from it, whatever the account is now', async () => {
    await owner.query(`INSERT INTO ledger_accounts (account_id, currency, clearing_no)
      SELECT 'ACC-CLOSING', 'USD', account_no FROM ledger_accounts WHERE account_id = 'CLEARING-USD'`);
    const booked = ledgerItem('closing 1', { accountId: 'ACC-CLOSING' });
    const [first] = await send(lane.buffer, [booked]);
    await owner.query(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE account_id = 'ACC-CLOSING'`);
    const late = ledgerItem('closing 2', { accountId: 'ACC-CLOSING' });
    const outcomes = await send(lane.buffer, [booked, late, { ...booked, amountMinor: 1 }]);
    expect(outcomes.map(resultOf)).toEqual(['duplicate', 'ERR_ACCOUNT_CLOSED', 'ERR_IDEMPOTENCY_CONFLICT']);
    expect(outcomes[0]).toEqual({ ...first, duplicate: true });
    await owner.query(`UPDATE ledger_accounts SET status = 'OPEN' WHERE account_id = 'ACC-CLOSING'`);
    expect((await send(lane.buffer, [late])).map(resultOf)).toEqual(['new']);
  });

  it('missing, closed, another currency, a clearing account: each has its code', async () => {
    const outcomes = await send(lane.buffer, [
      ledgerItem('state 1', { accountId: 'ACC-NOBODY' }),
      ledgerItem('state 2', { accountId: 'ACC-CLOSED' }),
      ledgerItem('state 3', { currency: 'EUR' }),
      ledgerItem('state 4', { accountId: 'CLEARING-USD' }),
      ledgerItem('state 5'),
    ]);
    expect(outcomes.map(resultOf)).toEqual([
      'ERR_INVALID_ACCOUNT_ID',
      'ERR_ACCOUNT_CLOSED',
      'ERR_CURRENCY_MISMATCH',
      'ERR_INVALID_ACCOUNT_ID',
      'new',
    ]);
  });
});

describe('two processes with the same keys', () => {
  async function reversed(one: LedgerProcess, other: LedgerProcess, rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const shared = items(`shared ${one.counts.flushes} ${round}`, 500);
      const [first, second] = await Promise.all([send(one.buffer, shared), send(other.buffer, shared.toReversed())]);
      second.reverse();
      first.forEach((outcome, n) => {
        const twin = second[n]!;
        expect([resultOf(outcome), resultOf(twin)].sort()).toEqual(['duplicate', 'new']);
        expect(outcome.status === 'COMMITTED' && twin.status === 'COMMITTED' && twin.entryId).toBe(
          outcome.status === 'COMMITTED' && outcome.entryId,
        );
      });
    }
  }

  it('in opposite order never deadlock: each key is new once and a duplicate once', async () => {
    const other = await openLedgerProcess(test, { connections: 3 });
    await reversed(lane, other, 20);
    expect(other.failures).toEqual([]);
    await other.close();
  });

  it('would deadlock if keys were not sorted, and even then every item is answered rightly', async () => {
    const unsorted = (): Promise<LedgerProcess> =>
      openLedgerProcess(test, {
        connections: 3,
        journalOf: (_right, database) =>
          new JournalRepository({
            query: (statement, values) =>
              database.query(
                statement === insertEntries
                  ? { name: 'unsorted', text: statement.text.replace('ORDER BY i.idempotency_key', '') }
                  : statement,
                values,
              ),
          }),
      });
    const [one, other] = [await unsorted(), await unsorted()];
    await reversed(one, other, 8);
    const states = [...one.failures, ...other.failures].map(({ error }) => (error as DatabaseError).code);
    // A deadlock is broken after 1 s; the lane's wait for a lock is shorter and ends it first.
    expect(states.some((state) => state === '40P01' || state === '55P03')).toBe(true);
    await Promise.all([one.close(), other.close()]);
  });

  it('and different payloads: one row, and whoever lost is told of a conflict', async () => {
    const other = await openLedgerProcess(test, { connections: 3 });
    for (let round = 0; round < 20; round += 1) {
      const outcomes = await Promise.all([
        send(lane.buffer, [ledgerItem(`race ${round}`, { amountMinor: 10 })]),
        send(other.buffer, [ledgerItem(`race ${round}`, { amountMinor: 20 })]),
      ]);
      expect(outcomes.flat().map(resultOf).sort()).toEqual(['ERR_IDEMPOTENCY_CONFLICT', 'new']);
      expect((await journalOf(owner, `race ${round}`)).filter(({ payload }) => payload).length).toBeGreaterThan(0);
    }
    await other.close();
  });

  it('a key that another process has not committed is waited for', async () => {
    const holder = await test.ownerClient('ledger');
    const held = ledgerItem('held');
    await holder.query('BEGIN');
    await holder.query(
      `INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
         idempotency_key, currency, merchant_id, external_transaction_id, generation)
       SELECT pg_current_xact_id()::text::bigint << 21, 100, '2025-11-30T12:00:00.123456Z', now(), account_no,
         clearing_no, true, decode($1, 'hex'), 'USD', 'mer_demo_0001', 'held', 1
       FROM ledger_accounts WHERE account_id = 'ACC-0001'`,
      [held.idempotencyKey],
    );
    const sent = send(lane.buffer, [held, ledgerItem('beside the held')]);
    await until(() => lane.failures.some(({ error }) => (error as DatabaseError).code === '55P03'));
    await holder.query('ROLLBACK');
    expect((await sent).map(resultOf)).toEqual(['new', 'new']);
    lane.failures.length = 0;
  });
});

describe('a commit whose answer is lost', () => {
  it('is found again under its own attempt: committed, no duplicate, one row', async () => {
    let losses = 0;
    const lossy = await openLedgerProcess(test, {
      connections: 3,
      journalOf: (right) => ({
        lookUp: (rows) => right.lookUp(rows),
        insert: async (rows, attempt) => {
          const numbers = await right.insert(rows, attempt);
          if ((losses += 1) <= 2) throw new Error('Connection terminated unexpectedly');
          return numbers;
        },
      }),
    });
    const known = items('lost', 3);
    await send(lane.buffer, known);
    const outcomes = await send(lossy.buffer, items('lost', 30));
    expect(losses).toBe(3);
    expect(outcomes.map(resultOf)).toEqual(outcomes.map((_, n) => (n < 3 ? 'duplicate' : 'new')));
    expect((await journalOf(owner, 'lost ')).map(({ id }) => id).sort()).toEqual(
      outcomes.map((outcome) => (outcome.status === 'COMMITTED' ? outcome.entryId : '')).sort(),
    );
    await lossy.close();
  });

  it('that never comes is ERR_OUTCOME_UNKNOWN at its time, and the same key tells later', async () => {
    const deaf = await openLedgerProcess(test, {
      connections: 3,
      limits: { outcomeMsMax: 300 },
      journalOf: (right) => ({
        lookUp: (rows) => right.lookUp(rows),
        insert: async (rows, attempt) => {
          await right.insert(rows, attempt);
          throw new Error('Connection terminated unexpectedly');
        },
      }),
    });
    const startedAtMs = performance.now();
    const outcomes = await send(deaf.buffer, items('deaf', 5));
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(299);
    expect(results(outcomes)).toEqual({ ERR_OUTCOME_UNKNOWN: 5 });
    expect(deaf.room.items).toBe(0);
    await until(() => deaf.buffer.flushesInFlight === 0);
    expect(results(await send(lane.buffer, items('deaf', 5)))).toEqual({ duplicate: 5 });
    await deaf.close();
  });

  it('an item that no statement has carried is ERR_STORE_UNAVAILABLE at its time, and is not there', async () => {
    let away = true;
    const cut = await openLedgerProcess(test, {
      connections: 3,
      limits: { outcomeMsMax: 300 },
      journalOf: (right) => ({
        lookUp: (rows) => right.lookUp(rows),
        insert: (rows, attempt) =>
          away
            ? Promise.reject(new PaymentError(databaseProblems.unavailable, 'No connection can be opened.'))
            : right.insert(rows, attempt),
      }),
    });
    expect(results(await send(cut.buffer, items('cut off', 5)))).toEqual({ ERR_STORE_UNAVAILABLE: 5 });
    away = false;
    await until(() => cut.buffer.flushesInFlight === 0);
    expect(await journalOf(owner, 'cut off')).toEqual([]);
    expect(results(await send(cut.buffer, items('cut off', 5)))).toEqual({ new: 5 });
    await cut.close();
  });
});

it('more rows than fit one flush: 1,001 and 10,000 of two callers are all answered', async () => {
  expect(results(await send(lane.buffer, items('1001', 1_001)))).toEqual({ new: 1_001 });
  const [one, other] = await Promise.all([
    send(lane.buffer, items('half a', 5_000), 'a'),
    send(lane.buffer, items('half b', 5_000), 'b'),
  ]);
  expect([results(one), results(other)]).toEqual([{ new: 5_000 }, { new: 5_000 }]);
  expect(lane.room.items).toBe(0);
});

it('amounts, instants and texts at their borders come back as they were sent', async () => {
  const border = ledgerItem('borders 💶 ‏é', {
    amountMinor: Number.MAX_SAFE_INTEGER,
    occurredAtMicros: -1,
    type: 'REFUND',
  });
  expect((await send(lane.buffer, [border])).map(resultOf)).toEqual(['new']);
  const [line] = await journalOf(owner, 'borders');
  expect(line?.payload).toBe('ACC-0001 REFUND 9007199254740991 USD -1');
  expect((await send(lane.buffer, [border])).map(resultOf)).toEqual(['duplicate']);
  expect((await send(lane.buffer, [{ ...border, occurredAtMicros: -2 }])).map(resultOf)).toEqual([
    'ERR_IDEMPOTENCY_CONFLICT',
  ]);
});
