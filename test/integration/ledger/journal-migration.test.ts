import { DataSource } from 'typeorm';
import { migrationDataSource } from '../../../config/data-sources';
import { laneTable } from '../../../config/lanes';
import { AccountsAndJournal1764590400000 } from '../../../migrations/ledger/1764590400000-accounts-and-journal';
import { Balances1764590401000 } from '../../../migrations/ledger/1764590401000-balances';
import { JournalGenerations1764590402000 } from '../../../migrations/ledger/1764590402000-journal-generations';
import { ledgerItem, openLedgerProcess, resultOf, send } from '../../fixtures/ledger-lane';
import { createTestDatabase } from '../../support/test-database';

/*
 * A journal that was one table becomes the first generation as it is, and one table again on the way back; its keys and
 * balances stay.
 */
it('a journal with entries is divided into generations and put together again', async () => {
  const test = await createTestDatabase();
  const owner = await test.ownerClient('ledger');
  const source = new DataSource(
    migrationDataSource(laneTable.ledger.datasource, test.adminUrl, [
      AccountsAndJournal1764590400000,
      Balances1764590401000,
      JournalGenerations1764590402000,
    ]),
  );
  await source.initialize();
  const entries = async (): Promise<string[]> => {
    const { rows } = await owner.query<{ name: string }>(
      `SELECT external_transaction_id AS name FROM ledger_journal ORDER BY id`,
    );
    return rows.map(({ name }) => name);
  };
  const balance = async (): Promise<string | undefined> => {
    const { rows } = await owner.query<{ balance: string }>(
      `SELECT (credits_minor - debits_minor)::text AS balance FROM ledger_account_totals WHERE account_id = 'ACC-0001'`,
    );
    return rows[0]?.balance;
  };
  try {
    await source.undoLastMigration({ transaction: 'each' });
    await owner.query(
      `INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
         idempotency_key, currency, merchant_id, external_transaction_id)
       SELECT (pg_current_xact_id()::text::bigint << 21) + n, 100, '2025-11-30T12:00:00.123456Z', now(), account_no,
         clearing_no, true, sha256(convert_to('mer_demo_0001:old ' || n, 'UTF8')), 'USD', 'mer_demo_0001', 'old ' || n
       FROM ledger_accounts, generate_series(1, 3) n WHERE account_id = 'ACC-0001'`,
    );
    await source.runMigrations({ transaction: 'each' });
    expect([await entries(), await balance()]).toEqual([['old 1', 'old 2', 'old 3'], '300']);

    const lane = await openLedgerProcess(test, { connections: 3, limits: { generationBytesMax: 1 } });
    await lane.keeper.run();
    const outcomes = await send(lane.buffer, [ledgerItem('old 2'), ledgerItem('new')]);
    expect(outcomes.map(resultOf)).toEqual(['duplicate', 'new']);
    await lane.rollUp.run();
    await lane.close();
    const { rows } = await owner.query<{ generation: number }>(
      `SELECT generation FROM ledger_journal WHERE external_transaction_id IN ('old 2', 'new') ORDER BY id`,
    );
    expect(rows.map(({ generation }) => generation)).toEqual([1, 2]);

    await source.undoLastMigration({ transaction: 'each' });
    expect([await entries(), await balance()]).toEqual([['old 1', 'old 2', 'old 3', 'new'], '400']);
    await expect(
      owner.query(`INSERT INTO ledger_journal (id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale,
          idempotency_key, currency, merchant_id, external_transaction_id)
        SELECT id + 1, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale, idempotency_key, currency,
          merchant_id, external_transaction_id FROM ledger_journal WHERE external_transaction_id = 'new'`),
    ).rejects.toMatchObject({ constraint: 'ledger_journal_key' });
    await expect(owner.query('DELETE FROM ledger_journal')).rejects.toThrow('append-only');
    await source.runMigrations({ transaction: 'each' });
    expect(await entries()).toEqual(['old 1', 'old 2', 'old 3', 'new']);
  } finally {
    await source.destroy();
  }
});
