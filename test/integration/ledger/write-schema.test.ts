import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { withClient } from '../../../scripts/setup/postgres-client';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('ledger');
  await insertEntry('first', 'ACC-0001');
});

async function insertEntry(name: string, accountId: string, changes: Readonly<Record<string, string>> = {}) {
  const key = createHash('sha256').update(`mer_demo_0001:${name}`).digest();
  const columns: Record<string, string> = {
    id: `(pg_current_xact_id()::text::bigint << 21)`,
    amount_minor: '100',
    account_no: 'a.account_no',
    clearing_no: 'a.clearing_no',
    idempotency_key: '$1::bytea',
    generation: '1',
    ...changes,
  };
  const { rows } = await owner.query<{ id: string }>(
    `INSERT INTO ledger_journal (${Object.keys(columns).join(', ')}, occurred_at, recorded_at, is_sale, currency,
       merchant_id, external_transaction_id)
     SELECT ${Object.values(columns).join(', ')}, now(), now(), true, a.currency, 'mer_demo_0001', $2::text
     FROM ledger_accounts a WHERE a.account_id = $3::text AND octet_length($1::bytea) = 32
     RETURNING id`,
    [key, name, accountId],
  );
  return rows;
}

it.each([
  'UPDATE ledger_journal SET amount_minor = 1',
  'DELETE FROM ledger_journal',
  'TRUNCATE ledger_journal',
  'UPDATE ledger_journal_1 SET amount_minor = 1',
  'DELETE FROM ledger_journal_1',
  'TRUNCATE ledger_journal_2',
])('the journal is append-only for the lane’s login and for the owner of the table: %s', async (statement) => {
  await withClient(test.laneUrl('ledger'), async (client) => {
    const asLane = statement.replace('ledger_journal', 'ledger.ledger_journal');
    await expect(client.query(asLane)).rejects.toMatchObject({ code: '42501' });
  });
  await expect(owner.query(statement)).rejects.toThrow('append-only');
});

it('half an entry, an empty one and one of nothing cannot be written', async () => {
  await expect(insertEntry('half', 'ACC-0001', { clearing_no: 'NULL' })).rejects.toMatchObject({ code: '23502' });
  await expect(insertEntry('same', 'ACC-0001', { clearing_no: 'a.account_no' })).rejects.toMatchObject({
    constraint: 'ledger_journal_two_sides',
  });
  await expect(insertEntry('zero', 'ACC-0001', { amount_minor: '0' })).rejects.toMatchObject({
    constraint: 'ledger_journal_amount',
  });
  await expect(insertEntry('above', 'ACC-0001', { amount_minor: '9007199254740992' })).rejects.toMatchObject({
    constraint: 'ledger_journal_amount',
  });
  // A clearing account has no other side to balance an entry.
  await expect(insertEntry('clearing', 'CLEARING-USD')).rejects.toMatchObject({ code: '23502' });
});

it('a SALE debits the clearing account and credits the account', async () => {
  const { rows } = await owner.query<{ debit: string; credit: string }>(
    `SELECT d.account_id AS debit, c.account_id AS credit FROM ledger_journal j
     JOIN ledger_accounts d ON d.account_no = j.debit_account_no
     JOIN ledger_accounts c ON c.account_no = j.credit_account_no`,
  );
  expect(rows).toEqual([{ debit: 'CLEARING-USD', credit: 'ACC-0001' }]);
});

it('a key stands in the journal once', async () => {
  await expect(insertEntry('first', 'ACC-0002')).rejects.toMatchObject({ code: '23505' });
});

it('totals are true before anything has been rolled up', async () => {
  const { rows } = await owner.query(
    `SELECT account_id, debits_minor, credits_minor, entries FROM ledger_account_totals WHERE entries > 0 ORDER BY 1`,
  );
  expect(rows).toEqual([
    { account_id: 'ACC-0001', debits_minor: '0', credits_minor: '100', entries: '1' },
    { account_id: 'CLEARING-USD', debits_minor: '100', credits_minor: '0', entries: '1' },
  ]);
});

it('a clearing account is named for its currency, no other account is, and both sides share it', async () => {
  const open = (accountId: string, currency: string, clearing: string | null) =>
    owner.query(
      `INSERT INTO ledger_accounts (account_id, currency, clearing_no)
       VALUES ($1, $2, (SELECT account_no FROM ledger_accounts WHERE account_id = $3))`,
      [accountId, currency, clearing],
    );
  await expect(open('CLEARING-X', 'USD', 'CLEARING-USD')).rejects.toMatchObject({ code: '23514' });
  await expect(open('ACC-NOBODY', 'USD', null)).rejects.toMatchObject({ code: '23514' });
  await expect(open('ACC-MIXED', 'USD', 'CLEARING-EUR')).rejects.toMatchObject({ code: '23503' });
});

it('the demo accounts are those of the contract', async () => {
  const { rows } = await owner.query<{ currency: string; status: string; count: string }>(
    `SELECT currency, status, count(*) FROM ledger_accounts WHERE clearing_no IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  expect(rows).toEqual([
    { currency: 'EUR', status: 'OPEN', count: '1' },
    { currency: 'JPY', status: 'OPEN', count: '1' },
    { currency: 'KWD', status: 'OPEN', count: '1' },
    { currency: 'USD', status: 'CLOSED', count: '1' },
    { currency: 'USD', status: 'OPEN', count: '500' },
  ]);
});
