import type { Client } from 'pg';
import { checkNumbering } from '../../../src/lanes/ledger/write/numbering';
import { ledgerItem, type LedgerProcess, openLedgerProcess, send } from '../../fixtures/ledger-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: LedgerProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('ledger');
  lane = await openLedgerProcess(test, { connections: 3 });
});

async function totals(): Promise<{ credits: string; entries: string } | undefined> {
  const { rows } = await owner.query<{ credits: string; entries: string }>(
    `SELECT credits_minor::text AS credits, entries::text FROM ledger_account_totals WHERE account_id = 'ACC-0001'`,
  );
  return rows[0];
}

it('entries are numbered upwards in the order of their transactions', async () => {
  const numbers: bigint[] = [];
  for (let n = 0; n < 5; n += 1) {
    const [outcome] = await send(lane.buffer, [ledgerItem(`order ${n}`)]);
    if (outcome?.status === 'COMMITTED') numbers.push(BigInt(outcome.entryId.slice('ent_'.length)));
  }
  expect(numbers.length).toBe(5);
  expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)));
  await checkNumbering(lane.database);
});

it('a journal from another cluster, whose numbers are higher, is refused until the numbering is lifted', async () => {
  // As a dump of a cluster that was a thousand million transactions older would leave it.
  await owner.query(
    `INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
       idempotency_key, currency, merchant_id, external_transaction_id, generation)
     SELECT 1000000000::bigint << 21, 900, now(), now(), account_no, clearing_no, true,
       sha256('mer_demo_0001:restored'), 'USD', 'mer_demo_0001', 'restored', 1
     FROM ledger_accounts WHERE account_id = 'ACC-0001'`,
  );
  await owner.query(`UPDATE ledger_roll_up SET through_id = (1000000000::bigint << 21) + 1`);
  await owner.query(
    `INSERT INTO ledger_account_sums
     SELECT account_no, 0, 1400, 6 FROM ledger_accounts WHERE account_id = 'ACC-0001'`,
  );
  await expect(checkNumbering(lane.database)).rejects.toThrow('ledger_lift_numbering()');
  await owner.query(`SELECT ledger_lift_numbering()`);
  await checkNumbering(lane.database);
  await send(lane.buffer, [ledgerItem('after')]);
  expect(await totals()).toEqual({ credits: '1500', entries: '7' });
  await lane.rollUp.run();
  expect(await totals()).toEqual({ credits: '1500', entries: '7' });
});
