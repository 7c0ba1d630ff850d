import type { MigrationInterface, QueryRunner } from 'typeorm';

/** 2^53 - 1: an amount is a JSON number, and beyond this one it would no longer be the number that was sent. */
const AMOUNT_MINOR_MAX = 9_007_199_254_740_991n;

/**
 * Authorizations and what later becomes of them. Status is not stored: it follows from the sums (contract 9), so it
 * cannot disagree with them. Columns that an answer is rebuilt from are never granted for update.
 */
export class Authorizations1764504001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await this.createAuthorizations(runner);
    await this.createMoves(runner);
    await this.createOutbox(runner);
  }

  private async createAuthorizations(runner: QueryRunner): Promise<void> {
    // Neither merchant nor card is a foreign key: a decline records an unknown merchant as sent (03) and has no card at
    // all if that is unknown (14); a card that is named was locked by the statement that wrote the row, and no role that
    // serves can delete one. The check per row would cost the hot path more than the insert itself.
    await runner.query(`
      CREATE TABLE authorizations (
        id uuid PRIMARY KEY,
        merchant_id text NOT NULL,
        card_id bigint,
        caller text NOT NULL,
        amount_minor bigint NOT NULL,
        captured_minor bigint NOT NULL DEFAULT 0,
        reversed_minor bigint NOT NULL DEFAULT 0,
        expired_minor bigint NOT NULL DEFAULT 0,
        refunded_minor bigint NOT NULL DEFAULT 0,
        currency text NOT NULL,
        response_code text NOT NULL,
        created_at timestamptz(3) NOT NULL,
        expires_at timestamptz(3) NOT NULL,
        CONSTRAINT authorizations_response_code
          CHECK (response_code IN ('00', '03', '14', '41', '51', '54', '57', '61', '62')),
        CONSTRAINT authorizations_amount CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        CONSTRAINT authorizations_sums CHECK (
          captured_minor >= 0 AND reversed_minor >= 0 AND expired_minor >= 0 AND refunded_minor >= 0
          AND captured_minor + reversed_minor + expired_minor <= amount_minor
          AND refunded_minor <= captured_minor
        ),
        CONSTRAINT authorizations_approved_on_a_card CHECK (response_code <> '00' OR card_id IS NOT NULL),
        CONSTRAINT authorizations_decline_holds_nothing CHECK (
          response_code = '00' OR captured_minor + reversed_minor + expired_minor + refunded_minor = 0
        )
      )`);
    // What the expiry sweep looks for, and nothing else: an authorization leaves it once nothing of it remains.
    await runner.query(`
      CREATE INDEX authorizations_expiring ON authorizations (expires_at)
        WHERE response_code = '00' AND captured_minor + reversed_minor + expired_minor < amount_minor`);
    await runner.query(`GRANT SELECT, INSERT ON authorizations TO card_auth_app`);
    await runner.query(
      `GRANT UPDATE (captured_minor, reversed_minor, expired_minor, refunded_minor) ON authorizations TO card_auth_app`,
    );
  }

  private async createMoves(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE captures (
        id uuid PRIMARY KEY,
        authorization_id uuid NOT NULL REFERENCES authorizations,
        caller text NOT NULL,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        refunded_minor bigint NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL,
        CONSTRAINT captures_refunded CHECK (refunded_minor BETWEEN 0 AND amount_minor)
      )`);
    await runner.query(`CREATE INDEX captures_of_authorization ON captures (authorization_id)`);
    await runner.query(`
      CREATE TABLE refunds (
        id uuid PRIMARY KEY,
        capture_id uuid NOT NULL REFERENCES captures,
        caller text NOT NULL,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        created_at timestamptz(3) NOT NULL
      )`);
    await runner.query(`CREATE INDEX refunds_of_capture ON refunds (capture_id)`);
    await runner.query(`
      CREATE TABLE reversals (
        id uuid PRIMARY KEY,
        authorization_id uuid NOT NULL REFERENCES authorizations,
        caller text NOT NULL,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        created_at timestamptz(3) NOT NULL
      )`);
    await runner.query(`CREATE INDEX reversals_of_authorization ON reversals (authorization_id)`);
    await runner.query(`GRANT SELECT, INSERT ON captures, refunds, reversals TO card_auth_app`);
    await runner.query(`GRANT UPDATE (refunded_minor) ON captures TO card_auth_app`);
  }

  /** One row per capture or refund, in its transaction: what the ledger must hear of, at least once (contract 9, 11). */
  private async createOutbox(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox (
        -- The capture's or refund's own id: it becomes the ledger's external_transaction_id, which makes a second
        -- delivery harmless.
        event_id uuid PRIMARY KEY,
        type text NOT NULL CHECK (type IN ('SALE', 'REFUND')),
        merchant_id text NOT NULL,
        account_id text NOT NULL,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND ${AMOUNT_MINOR_MAX}),
        currency text NOT NULL,
        occurred_at timestamptz(3) NOT NULL,
        published_at timestamptz(3),
        -- Set when the ledger has it in its journal; a row without it is sent again, without end.
        settled_at timestamptz(3),
        attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0)
      )`);
    await runner.query(`CREATE INDEX outbox_unsettled ON outbox (occurred_at) WHERE settled_at IS NULL`);
    await runner.query(`GRANT SELECT, INSERT, DELETE ON outbox TO card_auth_app`);
    await runner.query(`GRANT UPDATE (published_at, settled_at, attempts) ON outbox TO card_auth_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE outbox, reversals, refunds, captures, authorizations`);
  }
}
