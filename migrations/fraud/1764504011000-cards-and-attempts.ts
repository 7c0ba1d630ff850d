import type { MigrationInterface, QueryRunner } from 'typeorm';
import { currentSchema } from '../key-generations';

/** What a payment is judged against (contract 10): cards by fingerprint, their attempts, and what is known of risk. */
export class CardsAndAttempts1764504011000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await this.createCards(runner);
    await this.createAttempts(runner);
    await this.createRoll(runner);
    await runner.query(`SELECT roll_attempts()`);
    await this.createRisks(runner);
  }

  private async createCards(runner: QueryRunner): Promise<void> {
    // version orders the evaluations of one card: who stores a result raises it from the one that its facts were read
    // at, so no evaluation misses an attempt that was stored before its own. No index covers it, and a third of each
    // page is left free: the update stays on its page (HOT) and costs no index entries.
    // The row outlives the card's history, so that a card is not taken for a new one again.
    await runner.query(`
      CREATE TABLE cards (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        fingerprint bytea NOT NULL UNIQUE CHECK (octet_length(fingerprint) = 32),
        first_seen_at timestamptz(3) NOT NULL,
        version bigint NOT NULL CHECK (version > 0)
      ) WITH (fillfactor = 65, autovacuum_vacuum_scale_factor = 0.05)`);
    await runner.query(`GRANT SELECT, INSERT ON cards TO fraud_app`);
    await runner.query(`GRANT UPDATE (version, first_seen_at) ON cards TO fraud_app`);
  }

  private async createAttempts(runner: QueryRunner): Promise<void> {
    // One row for each evaluation. Neither a key nor foreign keys: the statement that writes it has claimed the
    // evaluation's unique id and locked the card.
    await runner.query(`
      CREATE TABLE attempts (
        card_id bigint NOT NULL,
        occurred_at timestamptz(3) NOT NULL,
        amount_minor bigint NOT NULL CHECK (amount_minor BETWEEN 1 AND 9007199254740991),
        currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
        country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
        merchant_id text NOT NULL,
        decision text NOT NULL CHECK (decision IN ('APPROVE', 'REVIEW', 'DECLINE')),
        evaluation_id uuid NOT NULL
      ) PARTITION BY RANGE (occurred_at)`);
    // All facts of a card are one range of this index, newest first, and need no visit to the table.
    await runner.query(`
      CREATE INDEX attempts_of_card ON attempts (card_id, occurred_at)
        INCLUDE (amount_minor, currency, country, merchant_id, decision)`);
    await runner.query(`GRANT SELECT, INSERT ON attempts TO fraud_app`);
  }

  /**
   * Weekly partitions: from the oldest moment that a payment may be dated (30 days back) to four weeks ahead, so that a
   * lane whose roll fails for weeks still stores. A partition goes when all of it is older than 13 weeks.
   */
  private async createRoll(runner: QueryRunner): Promise<void> {
    // The whole lock at once, for 100 ms at most: as for the generations of keys.
    await runner.query(`
      CREATE FUNCTION roll_attempts() RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${await currentSchema(runner)}, pg_temp
        SET lock_timeout = '100ms'
        SET timezone = 'UTC'
      AS $roll$
      DECLARE
        keep_weeks CONSTANT integer := 13;
        this_week CONSTANT date := date_trunc('week', clock_timestamp())::date;
        week date;
        due date[];
        spent text[];
        done integer := 0;
        name text;
      BEGIN
        SELECT array_agg(d::date) INTO due
          FROM generate_series(this_week - 35, this_week + 28, interval '7 days') d
          WHERE to_regclass(format('attempts_%s', to_char(d, 'YYYYMMDD'))) IS NULL;
        SELECT array_agg(c.relname::text) INTO spent
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'attempts'::regclass
            AND to_date(right(c.relname, 8), 'YYYYMMDD') < this_week - 7 * keep_weeks;
        IF due IS NULL AND spent IS NULL THEN RETURN NULL; END IF;

        LOCK TABLE ONLY attempts IN ACCESS EXCLUSIVE MODE;

        FOREACH week IN ARRAY coalesce(due, '{}') LOOP
          name := format('attempts_%s', to_char(week, 'YYYYMMDD'));
          -- Another process may have made it while this one waited.
          CONTINUE WHEN to_regclass(name) IS NOT NULL;
          EXECUTE format('CREATE TABLE %I PARTITION OF attempts FOR VALUES FROM (%L) TO (%L)', name, week, week + 7);
          done := done + 1;
        END LOOP;
        FOREACH name IN ARRAY coalesce(spent, '{}') LOOP
          BEGIN
            EXECUTE format('DROP TABLE IF EXISTS %I', name);
            done := done + 1;
          EXCEPTION WHEN lock_not_available THEN
            -- Being vacuumed, for instance: what is spent may wait for another hour.
            NULL;
          END;
        END LOOP;
        RETURN nullif(done, 0);
      END
      $roll$`);
    await runner.query(`REVOKE ALL ON FUNCTION roll_attempts() FROM PUBLIC`);
    await runner.query(`GRANT EXECUTE ON FUNCTION roll_attempts() TO fraud_app`);
  }

  /** Reference data, for the lane to read and for people to keep; who is not in it has the risk UNKNOWN. */
  private async createRisks(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE merchant_risks (
        merchant_id text PRIMARY KEY CHECK (length(merchant_id) BETWEEN 1 AND 64),
        risk text NOT NULL CHECK (risk IN ('LOW', 'MEDIUM', 'HIGH'))
      )`);
    await runner.query(`
      CREATE TABLE country_risks (
        country text PRIMARY KEY CHECK (country ~ '^[A-Z]{2}$'),
        risk text NOT NULL CHECK (risk IN ('LOW', 'MEDIUM', 'HIGH'))
      )`);
    await runner.query(`GRANT SELECT ON merchant_risks, country_risks TO fraud_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE country_risks, merchant_risks`);
    await runner.query(`DROP FUNCTION roll_attempts()`);
    await runner.query(`DROP TABLE attempts, cards`);
  }
}
