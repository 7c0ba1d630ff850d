import type { Client } from 'pg';
import { ledgerItem, type LedgerProcess, openLedgerProcess, send } from '../../fixtures/ledger-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: LedgerProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('ledger');
  lane = await openLedgerProcess(test, { connections: 10 });
});

/** Accounts whose totals are not the sums of their rows, in one snapshot. */
async function wrongTotals(client: Client): Promise<unknown[]> {
  const { rows } = await client.query<{ account_id: string }>(
    `SELECT t.account_id FROM ledger_account_totals t
     LEFT JOIN (
       SELECT account_no, sum(debit) AS debits, sum(credit) AS credits, count(*) AS entries FROM (
         SELECT debit_account_no AS account_no, amount_minor AS debit, 0 AS credit FROM ledger_journal
         UNION ALL SELECT credit_account_no, 0, amount_minor FROM ledger_journal
       ) AS side GROUP BY account_no
     ) AS sums USING (account_no)
     WHERE (t.debits_minor, t.credits_minor, t.entries) <>
       (coalesce(sums.debits, 0), coalesce(sums.credits, 0), coalesce(sums.entries, 0))`,
  );
  return rows;
}

async function rolledThrough(): Promise<bigint> {
  const { rows } = await owner.query<{ through_id: string }>(`SELECT through_id FROM ledger_roll_up`);
  return BigInt(rows[0]?.through_id ?? 0);
}

it('totals equal the sums of the rows at every moment of a busy ingest, rolled up all the while', async () => {
  const reader = await test.ownerClient('ledger');
  let busy = true;
  let rolledUp = 0;
  const rolling = (async () => {
    while (busy) rolledUp += await lane.rollUp.run();
  })();
  const reading = (async () => {
    for (let reads = 0; busy; reads += 1) expect(await wrongTotals(reader)).toEqual([]);
  })();
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(
      ['a', 'b'].map((caller) =>
        send(
          lane.buffer,
          Array.from({ length: 1_500 }, (_, n) =>
            ledgerItem(`busy ${round} ${caller} ${n}`, {
              // Half of all on one hot account.
              accountId: n % 2 === 0 ? 'ACC-0001' : `ACC-${String(1 + (n % 500)).padStart(4, '0')}`,
              type: n % 7 === 0 ? 'REFUND' : 'SALE',
              amountMinor: 1 + n,
            }),
          ),
          caller,
        ),
      ),
    );
  }
  busy = false;
  await Promise.all([rolling, reading]);
  await lane.rollUp.run();
  expect(await wrongTotals(owner)).toEqual([]);
  const { rows } = await owner.query<{ entries: string; journal: string }>(
    `SELECT (SELECT sum(entries) FROM ledger_account_sums) AS entries, (SELECT count(*) FROM ledger_journal) AS journal`,
  );
  expect(rolledUp).toBeGreaterThan(0);
  // Two sides of each entry, all of them rolled up by now.
  expect(Number(rows[0]?.entries)).toBe(2 * Number(rows[0]?.journal));
});

it('an entry of a transaction that is still under way is never passed over', async () => {
  const late = await test.ownerClient('ledger');
  await late.query('BEGIN');
  // Its transaction has its number now, and writes later than those that come after it.
  await late.query('SELECT pg_current_xact_id()');
  await send(lane.buffer, [ledgerItem('early')]);
  await lane.rollUp.run();
  const through = await rolledThrough();
  await late.query(
    `INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
       idempotency_key, currency, merchant_id, external_transaction_id, generation)
     SELECT pg_current_xact_id()::text::bigint << 21, 77, now(), now(), account_no, clearing_no, true,
       sha256('mer_demo_0001:late'), 'USD', 'mer_demo_0001', 'late', 1
     FROM ledger_accounts WHERE account_id = 'ACC-0001'`,
  );
  await late.query('COMMIT');
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM ledger_journal WHERE external_transaction_id = 'late'`,
  );
  expect(BigInt(rows[0]?.id ?? 0)).toBeGreaterThanOrEqual(through);
  expect(await wrongTotals(owner)).toEqual([]);
  await lane.rollUp.run();
  expect(await rolledThrough()).toBeGreaterThan(through);
  expect(await wrongTotals(owner)).toEqual([]);
});

it('two processes that roll up at once count nothing twice', async () => {
  await send(
    lane.buffer,
    Array.from({ length: 400 }, (_, n) => ledgerItem(`both ${n}`)),
  );
  await Promise.all(Array.from({ length: 6 }, () => lane.rollUp.run()));
  expect(await wrongTotals(owner)).toEqual([]);
});

it('sums beyond 2^63 are exact', async () => {
  const items = Array.from({ length: 1_100 }, (_, n) =>
    ledgerItem(`huge ${n}`, { amountMinor: Number.MAX_SAFE_INTEGER, accountId: 'ACC-0400' }),
  );
  await send(lane.buffer, items);
  const balance = async (): Promise<string | undefined> => {
    const { rows } = await owner.query<{ balance: string }>(
      `SELECT (credits_minor - debits_minor)::text AS balance FROM ledger_account_totals WHERE account_id = 'ACC-0400'`,
    );
    return rows[0]?.balance;
  };
  const { rows } = await owner.query<{ others: string }>(
    `SELECT coalesce(sum(CASE WHEN is_sale THEN amount_minor ELSE -amount_minor END), 0)::text AS others
     FROM ledger_journal JOIN ledger_accounts USING (account_no)
     WHERE account_id = 'ACC-0400' AND NOT starts_with(external_transaction_id, 'huge')`,
  );
  const expected = String(1_100n * BigInt(Number.MAX_SAFE_INTEGER) + BigInt(rows[0]?.others ?? 0));
  expect(await balance()).toBe(expected);
  await lane.rollUp.run();
  expect(await balance()).toBe(expected);
});
