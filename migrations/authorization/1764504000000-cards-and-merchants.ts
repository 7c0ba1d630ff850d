import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who is paid, and the cards that pay: what a hold is judged against (contract 9). */
export class CardsAndMerchants1764504000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE merchants (
        id text PRIMARY KEY,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        -- A colon would make the ledger's key, merchant_id ":" external_transaction_id, ambiguous (contract 11).
        CONSTRAINT merchants_id_form CHECK (length(id) BETWEEN 1 AND 64 AND position(':' in id) = 0)
      )`);
    await runner.query(`
      CREATE TABLE merchant_settlement_accounts (
        merchant_id text NOT NULL REFERENCES merchants,
        currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
        account_id text NOT NULL CHECK (length(account_id) BETWEEN 1 AND 64),
        PRIMARY KEY (merchant_id, currency)
      )`);
    // held_minor = sum of what its authorizations still hold (remaining) and of what was captured and not refunded, so
    // open-to-buy is limit_minor - held_minor. The CHECK is the database's own word against spending money twice: it
    // holds even where the code above it is wrong.
    // Half of each page is left free, and no index covers held_minor: its updates stay on their page (HOT), so that a
    // busy card costs no index entries and its dead versions go with the next visit, not with the next vacuum.
    await runner.query(`
      CREATE TABLE cards (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        token text NOT NULL UNIQUE CHECK (length(token) BETWEEN 1 AND 128),
        currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
        limit_minor bigint NOT NULL CHECK (limit_minor >= 0),
        transaction_limit_minor bigint NOT NULL CHECK (transaction_limit_minor >= 0),
        held_minor bigint NOT NULL DEFAULT 0,
        status text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'BLOCKED', 'LOST')),
        -- The last day on which the card is good, in UTC.
        expires_on date NOT NULL,
        CONSTRAINT cards_never_overspent CHECK (held_minor BETWEEN 0 AND limit_minor)
      ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)`);
    await runner.query(`GRANT SELECT ON merchants, merchant_settlement_accounts, cards TO card_auth_app`);
    await runner.query(`GRANT UPDATE (held_minor) ON cards TO card_auth_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE cards, merchant_settlement_accounts, merchants`);
  }
}
