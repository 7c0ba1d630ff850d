import { FakeClock } from '../../../../test/support/fake-clock';
import { databaseProblems } from '../../../platform/database/database.problems';
import { PaymentError } from '../../../shared/problem';
import type { ItemOutcome, LedgerItem } from '../ledger';
import { FlushRunner } from './flush-runner';
import type { PendingRow, Standing } from './journal';
import { JournalWriter } from './journal-writer';

const unavailable = new PaymentError(databaseProblems.unavailable, 'away');
const lost = new Error('Connection terminated unexpectedly');
const open: Standing = { stored: null, account: 'open' };

class Row implements PendingRow {
  wanted = true;
  inDoubt = false;
  outcome: ItemOutcome | null = null;
  readonly item: LedgerItem;

  constructor(key: string) {
    this.item = {
      merchantId: 'm',
      externalTransactionId: key,
      accountId: 'a',
      type: 'SALE',
      amountMinor: 1,
      currency: 'USD',
      occurredAtMicros: 0,
      idempotencyKey: key,
    };
  }

  settle(outcome: ItemOutcome): void {
    this.outcome ??= outcome;
    this.wanted = false;
  }
}

let clock: FakeClock;
let inserts: (Error | readonly string[])[];
let attempts: number[];
let split: (readonly PendingRow[])[];
let standing: Standing;

beforeEach(() => {
  clock = new FakeClock();
  inserts = [];
  attempts = [];
  split = [];
  standing = open;
});

function runner(): FlushRunner {
  const writer = new JournalWriter(
    {
      insert: (_rows, attempt) => {
        attempts.push(attempt);
        const next = inserts.shift() ?? lost;
        return next instanceof Error ? Promise.reject(next) : Promise.resolve(new Map(next.map((key) => [key, '7'])));
      },
      lookUp: (rows) => Promise.resolve(new Map(rows.map(({ item }) => [item.idempotencyKey, standing]))),
    },
    (statement) => statement(),
  );
  return new FlushRunner({
    writer,
    splitter: { split: (rows) => void split.push(rows) },
    clock,
    random: () => 0.5,
    onFailure: () => undefined,
  });
}

/** Runs to the end, letting each pause pass as soon as it is made; the pauses. */
async function runOut(rows: readonly Row[], turns = 200): Promise<number[]> {
  const pauses: number[] = [];
  let ended = false;
  void runner()
    .run(rows)
    .then(() => (ended = true));
  for (let turn = 0; turn < turns && !ended; turn += 1) {
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
    if (clock.nextInMs === Infinity) continue;
    pauses.push(clock.nextInMs);
    clock.advance(clock.nextInMs);
  }
  return pauses;
}

it('tries again with growing pauses and the same attempt, and settles what comes back', async () => {
  const rows = [new Row('a')];
  inserts = [unavailable, unavailable, lost, unavailable, ['a']];
  expect(await runOut(rows)).toEqual([15, 30, 60, 120]);
  expect(new Set(attempts)).toEqual(new Set([2_048]));
  expect(rows[0]?.outcome).toEqual({ status: 'COMMITTED', entryId: 'ent_7', duplicate: false });
});

it('pauses for a second at most', async () => {
  const row = new Row('a');
  inserts = Array<Error>(12).fill(unavailable);
  inserts.push(['a']);
  const pauses = await runOut([row]);
  expect(Math.max(...pauses)).toBe(750);
});

it('stops when nobody waits any more, and leaves no row without its end', async () => {
  const rows = [new Row('a'), new Row('b')];
  inserts = [unavailable];
  const running = runner().run(rows);
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
  for (const row of rows) row.wanted = false;
  clock.advance(1_000);
  await running;
  expect(attempts.length).toBe(1);
  expect(rows.map(({ outcome }) => outcome)).toMatchObject(Array(2).fill({ code: 'ERR_STORE_UNAVAILABLE' }));
});

it('doubt stays once an answer was lost, whatever comes after it short of the journal’s word', async () => {
  const row = new Row('a');
  inserts = [lost, unavailable];
  const running = runner().run([row]);
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
  expect(row.inDoubt).toBe(true);
  clock.advance(1_000);
  for (let n = 0; n < 10; n += 1) await Promise.resolve();
  expect([attempts.length, row.inDoubt]).toEqual([2, true]);
  row.wanted = false;
  clock.advance(1_000);
  await running;
  expect(row.outcome).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN' });
});

it('a row that neither comes back nor is refused is tried three times, then may be sent again', async () => {
  const row = new Row('a');
  inserts = [[], [], [], ['a']];
  await runOut([row]);
  expect(attempts.length).toBe(3);
  expect(row.outcome).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', retryable: true });
});

it('an account at fault is no word on a key of which an answer was lost: what was sent first may be under way yet', async () => {
  standing = { stored: null, account: 'closed' };
  const [told, doubted] = [new Row('a'), new Row('b')];
  inserts = [[]];
  await runOut([told]);
  expect(told.outcome).toMatchObject({ code: 'ERR_ACCOUNT_CLOSED' });
  inserts = [lost, [], [], []];
  await runOut([doubted]);
  expect(doubted.outcome).toMatchObject({ code: 'ERR_OUTCOME_UNKNOWN', retryable: true });
});
