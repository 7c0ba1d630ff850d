import type { MigrationInterface, QueryRunner } from 'typeorm';
import { currentSchema } from '../key-generations';

/**
 * Nothing is gained by vacuuming what only grows, and each ANALYZE has every connection plan anew: while a generation is
 * written to, autovacuum comes for dead rows only.
 */
const WHILE_WRITTEN_TO = 'autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 2000000000';

/**
 * The journal in generations (docs/ledger-journal.md). A key is a SHA-256, so that every new entry touches a random leaf
 * of the index that keeps keys unique; an index that grows for ever outgrows memory, and after each checkpoint the WAL
 * takes a whole page for each leaf. Here only the newest generation is written to, and it stays small.
 */
export class JournalGenerations1764590402000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP VIEW ledger_account_totals`);
    await this.divideJournal(runner);
    await this.createGenerations(runner);
    await this.createPrepare(runner);
    await this.createRoll(runner);
    await this.createSums(runner);
    await createTotals(runner, `j.generation >= (SELECT through_generation FROM ledger_roll_up) AND`);
    await runner.query(`SELECT ledger_prepare_generation()`);
  }

  /** What is there becomes the first generation, without being written anew. */
  private async divideJournal(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE ledger_journal RENAME TO ledger_journal_1`);
    await runner.query(`ALTER TABLE ledger_journal_1 DROP CONSTRAINT ledger_journal_key`);
    await runner.query(`DROP INDEX ledger_journal_of_account, ledger_journal_in_order`);
    await runner.query(`ALTER TABLE ledger_journal_1 ADD COLUMN generation integer NOT NULL DEFAULT 1`);
    await runner.query(`ALTER TABLE ledger_journal_1 ALTER COLUMN generation DROP DEFAULT`);
    await runner.query(`REVOKE ALL ON ledger_journal_1 FROM ledger_app`);
    await runner.query(`
      CREATE TABLE ledger_journal (LIKE ledger_journal_1 INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE)
        PARTITION BY LIST (generation)`);
    // A partition's unique index holds its own keys apart; what holds those of different generations apart is the writer's
    // statement and the turn below.
    await runner.query(
      `ALTER TABLE ledger_journal ADD CONSTRAINT ledger_journal_key UNIQUE (idempotency_key, generation)`,
    );
    await runner.query(`CREATE INDEX ledger_journal_of_account ON ledger_journal (account_no, id)`);
    // A B-tree that grows at its right end, for the tail behind the roll-up. A BRIN index says nothing of the rows of the
    // last minute, since autovacuum has not summarised them yet: every roll-up would read them all.
    await runner.query(`CREATE INDEX ledger_journal_in_order ON ledger_journal (id)`);
    await runner.query(`ALTER TABLE ledger_journal ATTACH PARTITION ledger_journal_1 FOR VALUES IN (1)`);
    await runner.query(`ALTER TABLE ledger_journal_1 SET (${WHILE_WRITTEN_TO})`);
    await forbidChanges(runner, 'ledger_journal');
    await runner.query(`GRANT SELECT, INSERT ON ledger_journal TO ledger_app`);
  }

  private async createGenerations(runner: QueryRunner): Promise<void> {
    // end_id is null in the one generation that is written to. All ids of a sealed one are below its end_id, and all ids
    // of later ones are not: the turn waits for every transaction that writes to the old one.
    await runner.query(`
      CREATE TABLE ledger_generations (
        generation integer PRIMARY KEY CHECK (generation > 0),
        end_id bigint CHECK (end_id >= 0),
        sealed_at timestamptz,
        CONSTRAINT ledger_generations_sealed CHECK ((end_id IS NULL) = (sealed_at IS NULL))
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX ledger_generations_one_current ON ledger_generations ((true)) WHERE end_id IS NULL`,
    );
    await runner.query(`INSERT INTO ledger_generations (generation) VALUES (1)`);
    await runner.query(`GRANT SELECT ON ledger_generations TO ledger_app`);
    await runner.query(`
      ALTER TABLE ledger_roll_up
        -- No entry from through_id on is in an older generation.
        ADD COLUMN through_generation integer NOT NULL DEFAULT 1 CHECK (through_generation > 0)`);
    await runner.query(`GRANT UPDATE (through_generation) ON ledger_roll_up TO ledger_app`);
    await runner.query(`
      CREATE OR REPLACE FUNCTION ledger_lift_numbering() RETURNS bigint LANGUAGE sql AS $$
        UPDATE ledger_numbering SET base = greatest(base,
          (SELECT coalesce(max(id), 0) FROM ledger_journal), (SELECT coalesce(max(end_id), 0) FROM ledger_generations))
        RETURNING base
      $$`);
  }

  /** Makes the table of the generation to come while nobody needs it; writers and readers go on meanwhile. */
  private async createPrepare(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION ledger_prepare_generation() RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${await currentSchema(runner)}, pg_temp
        SET lock_timeout = '100ms'
      AS $prepare$
      DECLARE
        next_generation integer;
        name text;
        sealed text;
      BEGIN
        SELECT generation + 1 INTO next_generation FROM ledger_generations WHERE end_id IS NULL;
        name := format('ledger_journal_%s', next_generation);
        -- The one before the current is sealed: now autovacuum may freeze it, once, and never has to come again.
        SELECT format('ledger_journal_%s', next_generation - 2) INTO sealed FROM pg_class
          WHERE oid = to_regclass(format('ledger_journal_%s', next_generation - 2)) AND reloptions IS NOT NULL;
        IF sealed IS NOT NULL THEN
          EXECUTE format('ALTER TABLE %I RESET (autovacuum_vacuum_insert_threshold, autovacuum_analyze_threshold)', sealed);
        END IF;
        IF to_regclass(name) IS NOT NULL THEN RETURN NULL; END IF;
        -- One process makes it; the others find it there the next time.
        IF NOT pg_try_advisory_xact_lock(hashtextextended('ledger_generations', 0)) THEN RETURN NULL; END IF;
        IF to_regclass(name) IS NOT NULL THEN RETURN NULL; END IF;
        -- Made apart and attached: that takes a lock on the journal which writers and readers do not notice.
        EXECUTE format('CREATE TABLE %I (LIKE ledger_journal INCLUDING ALL) WITH (${WHILE_WRITTEN_TO})', name);
        EXECUTE format('CREATE TRIGGER ledger_journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %I
          FOR EACH STATEMENT EXECUTE FUNCTION ledger_journal_is_append_only()', name);
        EXECUTE format('ALTER TABLE ledger_journal ATTACH PARTITION %I FOR VALUES IN (%s)', name, next_generation);
        RETURN next_generation;
      END
      $prepare$`);
    await grantToLane(runner, 'ledger_prepare_generation()');
  }

  /**
   * The turn from one generation to the next, once the table of the current one has so many bytes. Every statement that
   * writes an entry reads ledger_generations, and so holds its lock until its transaction ends. The turn takes the whole
   * lock: it waits for the writers under way and holds off new ones, which take their snapshot after they have the lock,
   * hence see the new generation and every key of the old one. Only the row changes, the next table is there already.
   */
  private async createRoll(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION ledger_roll_generation(bytes_min bigint) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${await currentSchema(runner)}, pg_temp
        SET lock_timeout = '100ms'
      AS $roll$
      DECLARE
        old_generation integer;
      BEGIN
        -- Two turns at once would each wait for the other's reading of the table.
        IF NOT pg_try_advisory_xact_lock(hashtextextended('ledger_generations', 0)) THEN RETURN NULL; END IF;
        SELECT generation INTO old_generation FROM ledger_generations WHERE end_id IS NULL;
        IF pg_relation_size(format('ledger_journal_%s', old_generation)::regclass) < bytes_min
          OR to_regclass(format('ledger_journal_%s', old_generation + 1)) IS NULL THEN RETURN NULL; END IF;

        LOCK TABLE ledger_generations IN ACCESS EXCLUSIVE MODE;

        -- A snapshot of its own, taken under the lock: all transactions that wrote to the old generation have ended.
        UPDATE ledger_generations SET sealed_at = clock_timestamp(), end_id = (SELECT base FROM ledger_numbering)
          + (pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 21)
          WHERE generation = old_generation;
        INSERT INTO ledger_generations (generation) VALUES (old_generation + 1);
        RETURN old_generation + 1;
      END
      $roll$`);
    await grantToLane(runner, 'ledger_roll_generation(bigint)');
  }

  /** What is known of a sealed generation, which no longer changes, so that nobody has to read it again. */
  private async createSums(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE ledger_generation_sums (
        generation integer NOT NULL REFERENCES ledger_generations,
        account_no integer NOT NULL REFERENCES ledger_accounts,
        debits_minor numeric NOT NULL CHECK (debits_minor >= 0),
        credits_minor numeric NOT NULL CHECK (credits_minor >= 0),
        entries bigint NOT NULL CHECK (entries > 0),
        PRIMARY KEY (generation, account_no)
      )`);
    await runner.query(`
      CREATE TABLE ledger_generation_filters (
        generation integer PRIMARY KEY REFERENCES ledger_generations,
        bits bytea NOT NULL CHECK (length(bits) > 0)
      )`);
    // Bits of hashes: nothing to compress.
    await runner.query(`ALTER TABLE ledger_generation_filters ALTER COLUMN bits SET STORAGE EXTERNAL`);
    await runner.query(`GRANT SELECT, INSERT ON ledger_generation_sums, ledger_generation_filters TO ledger_app`);
  }

  /** One table again, by writing all of it anew. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP VIEW ledger_account_totals`);
    await runner.query(`DROP FUNCTION ledger_roll_generation(bigint)`);
    await runner.query(`DROP FUNCTION ledger_prepare_generation()`);
    await runner.query(`ALTER TABLE ledger_journal RENAME TO ledger_journal_divided`);
    await runner.query(`
      CREATE TABLE ledger_journal (LIKE ledger_journal_divided INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE)`);
    const columns = `id, amount_minor, occurred_at, recorded_at, account_no, clearing_no, is_sale, idempotency_key,
      currency, merchant_id, external_transaction_id`;
    await runner.query(`
      INSERT INTO ledger_journal (${columns}, generation)
      SELECT ${columns}, generation FROM ledger_journal_divided ORDER BY id`);
    await runner.query(`DROP TABLE ledger_generation_sums, ledger_generation_filters, ledger_journal_divided`);
    await runner.query(`ALTER TABLE ledger_journal DROP COLUMN generation`);
    await runner.query(`ALTER TABLE ledger_journal ADD CONSTRAINT ledger_journal_key UNIQUE (idempotency_key)`);
    await runner.query(`CREATE UNIQUE INDEX ledger_journal_of_account ON ledger_journal (account_no, id)`);
    await runner.query(`
      CREATE INDEX ledger_journal_in_order ON ledger_journal USING brin (id) WITH (pages_per_range = 16, autosummarize)`);
    await forbidChanges(runner, 'ledger_journal');
    await runner.query(`GRANT SELECT, INSERT ON ledger_journal TO ledger_app`);
    await runner.query(`
      CREATE OR REPLACE FUNCTION ledger_lift_numbering() RETURNS bigint LANGUAGE sql AS $$
        UPDATE ledger_numbering SET base = greatest(base, (SELECT coalesce(max(id), 0) FROM ledger_journal)) RETURNING base
      $$`);
    await runner.query(`DROP TABLE ledger_generations`);
    await runner.query(`ALTER TABLE ledger_roll_up DROP COLUMN through_generation`);
    await createTotals(runner, '');
  }
}

/** A statement on a partition does not fire what stands on the whole: each has a trigger of its own. */
async function forbidChanges(runner: QueryRunner, table: string): Promise<void> {
  await runner.query(`
    CREATE TRIGGER ledger_journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ledger_journal_is_append_only()`);
}

async function grantToLane(runner: QueryRunner, signature: string): Promise<void> {
  await runner.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
  await runner.query(`GRANT EXECUTE ON FUNCTION ${signature} TO ledger_app`);
}

/** The true totals of every account, of one snapshot: sums and tail. `tail` bounds what the tail is looked for in. */
async function createTotals(runner: QueryRunner, tail: string): Promise<void> {
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
      WHERE ${tail} j.account_no = a.account_no AND j.id >= (SELECT through_id FROM ledger_roll_up)
    ) AS own
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(j.amount_minor) FILTER (WHERE j.is_sale), 0) AS debits_minor,
        coalesce(sum(j.amount_minor) FILTER (WHERE NOT j.is_sale), 0) AS credits_minor, count(*) AS entries
      FROM ledger_journal j
      WHERE ${tail} a.clearing_no IS NULL
        AND j.clearing_no = a.account_no AND j.id >= (SELECT through_id FROM ledger_roll_up)
    ) AS cleared`);
  await runner.query(`GRANT SELECT ON ledger_account_totals TO ledger_app`);
}
