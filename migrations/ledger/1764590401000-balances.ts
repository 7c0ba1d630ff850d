import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Balances as a roll-up plus a tail (contract 11): entries below through_id are summed per account, the rest is summed
 * when somebody asks. Ingest touches no balance, so a hot account holds up no flush; a reader sees its own writes, since
 * the tail is every visible entry from through_id on.
 */
export class Balances1764590401000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // numeric: 1,025 entries of the largest amount pass 2^63.
    await runner.query(`
      CREATE TABLE ledger_account_sums (
        account_no integer PRIMARY KEY REFERENCES ledger_accounts,
        debits_minor numeric NOT NULL CHECK (debits_minor >= 0),
        credits_minor numeric NOT NULL CHECK (credits_minor >= 0),
        entries bigint NOT NULL CHECK (entries > 0)
      ) WITH (fillfactor = 50)`);
    await runner.query(`
      CREATE TABLE ledger_roll_up (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        -- The first id that is not in the sums. Below it no transaction is under way any more.
        through_id bigint NOT NULL CHECK (through_id >= 0)
      ) WITH (fillfactor = 50)`);
    await runner.query(`INSERT INTO ledger_roll_up (through_id) VALUES (0)`);
    await this.createTotals(runner);
    await runner.query(`GRANT SELECT, INSERT, UPDATE ON ledger_account_sums TO ledger_app`);
    await runner.query(`GRANT SELECT, UPDATE (through_id) ON ledger_roll_up TO ledger_app`);
    await runner.query(`GRANT SELECT ON ledger_account_totals TO ledger_app`);
  }

  /**
   * The true totals of every account, of one snapshot: sums and tail together. The tail of an account is a range of its
   * own index; that of a clearing account a range of the whole journal, which the index in order bounds.
   */
  private async createTotals(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE VIEW ledger_account_totals AS
      SELECT a.account_no, a.account_id, a.currency, a.status, a.clearing_no, a.created_at,
        coalesce(s.debits_minor, 0) + own.debits_minor + cleared.debits_minor AS debits_minor,
        coalesce(s.credits_minor, 0) + own.credits_minor + cleared.credits_minor AS credits_minor,
        coalesce(s.entries, 0) + own.entries + cleared.entries AS entries
      FROM ledger_accounts a
      LEFT JOIN ledger_account_sums s ON s.account_no = a.account_no
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(j.amount_minor) FILTER (WHERE NOT j.is_sale), 0) AS debits_minor,
          coalesce(sum(j.amount_minor) FILTER (WHERE j.is_sale), 0) AS credits_minor, count(*) AS entries
        FROM ledger_journal j
        WHERE j.account_no = a.account_no AND j.id >= (SELECT through_id FROM ledger_roll_up)
      ) AS own
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(j.amount_minor) FILTER (WHERE j.is_sale), 0) AS debits_minor,
          coalesce(sum(j.amount_minor) FILTER (WHERE NOT j.is_sale), 0) AS credits_minor, count(*) AS entries
        FROM ledger_journal j
        WHERE a.clearing_no IS NULL
          AND j.clearing_no = a.account_no AND j.id >= (SELECT through_id FROM ledger_roll_up)
      ) AS cleared`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP VIEW ledger_account_totals`);
    await runner.query(`DROP TABLE ledger_roll_up, ledger_account_sums`);
  }
}
