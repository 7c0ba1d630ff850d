import type { MigrationInterface, QueryRunner } from 'typeorm';

/** 2^53 - 1: an amount is a JSON number, and beyond this one it would no longer be the number that was sent. */
const AMOUNT_MINOR_MAX = 9_007_199_254_740_991n;

/** The accounts, and the journal as the one table that everything else follows from (contract 11). */
export class AccountsAndJournal1764590400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await this.createAccounts(runner);
    await this.createJournal(runner);
    await this.forbidChanges(runner);
  }

  private async createAccounts(runner: QueryRunner): Promise<void> {
    // clearing_no names the account's other side, and with it the currency's clearing account is found by the look-up
    // that an entry needs anyway. The second foreign key holds both to one currency.
    await runner.query(`
      CREATE TABLE ledger_accounts (
        account_no integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        account_id text NOT NULL UNIQUE CHECK (length(account_id) BETWEEN 1 AND 64),
        currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
        -- Null in a clearing account.
        clearing_no integer,
        status text NOT NULL DEFAULT 'OPEN' CHECK (status IN ('OPEN', 'CLOSED')),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT ledger_accounts_of_a_currency UNIQUE (account_no, currency),
        CONSTRAINT ledger_accounts_clearing FOREIGN KEY (clearing_no, currency)
          REFERENCES ledger_accounts (account_no, currency),
        CONSTRAINT ledger_accounts_clearing_names CHECK (
          CASE WHEN clearing_no IS NULL THEN account_id = 'CLEARING-' || currency
            ELSE account_id NOT LIKE 'CLEARING-%' END
        )
      )`);
    await runner.query(`GRANT SELECT, INSERT ON ledger_accounts TO ledger_app`);
    // For a statement that closes or opens one. No role that serves may delete an account or change what it is.
    await runner.query(`GRANT UPDATE (status) ON ledger_accounts TO ledger_app`);
  }

  /**
   * One row is a balanced double entry: it names one amount, the account, and the clearing account of its currency; which
   * of the two is debited follows from is_sale. A half of an entry cannot be written.
   *
   * id = base + (transaction id * 2^21) + (attempt * 2^9) + place in the flush: one number that is the entry's name, its
   * order and the way to page, without a sequence. The transaction id (64 bits, it never wraps) makes it unique, because a
   * transaction writes one flush of at most 500 rows; ids smaller than that of the oldest transaction still running
   * belong to transactions that have all ended, so a reader knows up to where nothing can come late. The attempt is a
   * number that the writer drew: after a lost connection it tells the writer's own row from another one's.
   *
   * Neither account is a foreign key: both come from ledger_accounts in the statement that writes the row, no role that
   * serves may delete one, and the check per row would cost more than the insert itself.
   */
  private async createJournal(runner: QueryRunner): Promise<void> {
    // Transaction ids start anew in a cluster that was restored from a dump: base then lifts new ids above the old ones.
    await runner.query(`
      CREATE TABLE ledger_numbering (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        base bigint NOT NULL CHECK (base >= 0)
      )`);
    await runner.query(`INSERT INTO ledger_numbering (base) VALUES (0)`);
    await runner.query(`
      CREATE TABLE ledger_journal (
        id bigint NOT NULL,
        amount_minor bigint NOT NULL,
        occurred_at timestamptz NOT NULL,
        recorded_at timestamptz NOT NULL,
        account_no integer NOT NULL,
        clearing_no integer NOT NULL,
        is_sale boolean NOT NULL,
        idempotency_key bytea NOT NULL,
        currency text NOT NULL,
        merchant_id text NOT NULL,
        external_transaction_id text NOT NULL,
        debit_account_no integer GENERATED ALWAYS AS (CASE WHEN is_sale THEN clearing_no ELSE account_no END) VIRTUAL,
        credit_account_no integer GENERATED ALWAYS AS (CASE WHEN is_sale THEN account_no ELSE clearing_no END) VIRTUAL,
        CONSTRAINT ledger_journal_key UNIQUE (idempotency_key),
        CONSTRAINT ledger_journal_key_length CHECK (octet_length(idempotency_key) = 32),
        CONSTRAINT ledger_journal_amount CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        CONSTRAINT ledger_journal_two_sides CHECK (account_no <> clearing_no)
      )`);
    // An account's entries in order. Its leaves grow at one place per account, so it stays in few pages, unlike the key.
    await runner.query(`CREATE UNIQUE INDEX ledger_journal_of_account ON ledger_journal (account_no, id)`);
    // Rows lie in the order of their ids but for what flushes mix; the tail behind the roll-up is found by this.
    await runner.query(`
      CREATE INDEX ledger_journal_in_order ON ledger_journal USING brin (id) WITH (pages_per_range = 16, autosummarize)`);
    // For the owner, once, after such a restoration and before the lane is started; the lane refuses to start without.
    await runner.query(`
      CREATE FUNCTION ledger_lift_numbering() RETURNS bigint LANGUAGE sql AS $$
        UPDATE ledger_numbering SET base = greatest(base, (SELECT coalesce(max(id), 0) FROM ledger_journal)) RETURNING base
      $$`);
    await runner.query(`REVOKE ALL ON FUNCTION ledger_lift_numbering() FROM PUBLIC`);
    await runner.query(`GRANT SELECT ON ledger_numbering TO ledger_app`);
    await runner.query(`GRANT SELECT, INSERT ON ledger_journal TO ledger_app`);
  }

  /** Grants keep the lane from changing an entry; this keeps the owner, and whoever is granted more by mistake. */
  private async forbidChanges(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION ledger_journal_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'ledger_journal is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
      END $$`);
    await runner.query(`
      CREATE TRIGGER ledger_journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_journal
        FOR EACH STATEMENT EXECUTE FUNCTION ledger_journal_is_append_only()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION ledger_lift_numbering()`);
    await runner.query(`DROP TABLE ledger_journal, ledger_numbering, ledger_accounts`);
    await runner.query(`DROP FUNCTION ledger_journal_is_append_only()`);
  }
}
