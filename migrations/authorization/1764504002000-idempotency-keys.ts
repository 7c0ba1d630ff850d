import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Answers kept by key for 7 days and purged by dropping partitions (contract 8).
 *
 * Uniqueness over time-partitioned rows is exact because writers always insert into one generation, the current one,
 * and look into the sealed ones, which no longer change. The turn from one generation to the next is the only moment
 * at which that could fail, so `roll_idempotency_generation` waits for the writers under way and holds off new ones;
 * those take their snapshot after they have the table's lock, hence see the new generation and all rows of the old.
 */
export class IdempotencyKeys1764504002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotency_generations (
        generation integer PRIMARY KEY CHECK (generation > 0),
        started_at timestamptz NOT NULL DEFAULT now(),
        sealed_at timestamptz
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX idempotency_generations_one_current ON idempotency_generations ((true))
        WHERE sealed_at IS NULL`);
    await runner.query(`INSERT INTO idempotency_generations (generation) VALUES (1)`);
    // resource_id names the row whose immutable columns give the stored answer again.
    await runner.query(`
      CREATE TABLE idempotency_keys (
        scope_hash bytea NOT NULL CHECK (octet_length(scope_hash) = 32),
        generation integer NOT NULL,
        payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
        resource_id uuid NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (scope_hash, generation)
      ) PARTITION BY LIST (generation)`);
    await runner.query(`CREATE TABLE idempotency_keys_1 PARTITION OF idempotency_keys FOR VALUES IN (1)`);
    await runner.query(`GRANT SELECT, INSERT ON idempotency_keys TO card_auth_app`);
    await runner.query(`GRANT SELECT ON idempotency_generations TO card_auth_app`);
    await this.createRoll(runner);
  }

  private async createRoll(runner: QueryRunner): Promise<void> {
    const rows = (await runner.query(`SELECT quote_ident(current_schema()) AS schema`)) as { schema: string }[];
    const schema = rows[0]?.schema;
    if (schema === undefined) throw new Error('No schema to create the idempotency keys in');
    // The whole lock at once: creating and dropping a partition needs ACCESS EXCLUSIVE anyway, and taking less first
    // would be a lock upgrade, which deadlocks with a transaction that reads keys and then inserts one.
    // ONLY: writers come by way of the parent, and waiting for a vacuum of a partition would hold them up for nothing.
    // 100 ms at most, since every later statement queues behind the waiting lock; a busy moment is tried again.
    await runner.query(`
      CREATE FUNCTION roll_idempotency_generation(age_min interval) RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${schema}, pg_temp
        SET lock_timeout = '100ms'
      AS $roll$
      DECLARE
        -- The life of a stored answer (contract 8). A sealed generation holds nothing younger than its sealing.
        keep CONSTANT interval := interval '7 days';
        current_generation integer;
        next_generation integer := NULL;
        spent integer;
      BEGIN
        PERFORM FROM idempotency_generations
          WHERE (sealed_at IS NULL AND started_at <= clock_timestamp() - age_min)
             OR sealed_at < clock_timestamp() - keep;
        IF NOT FOUND THEN RETURN NULL; END IF;

        LOCK TABLE ONLY idempotency_keys IN ACCESS EXCLUSIVE MODE;

        -- Another process may have rolled while this one waited.
        SELECT generation INTO current_generation FROM idempotency_generations
          WHERE sealed_at IS NULL AND started_at <= clock_timestamp() - age_min;
        IF FOUND THEN
          next_generation := current_generation + 1;
          EXECUTE format('CREATE TABLE idempotency_keys_%s PARTITION OF idempotency_keys FOR VALUES IN (%s)',
            next_generation, next_generation);
          UPDATE idempotency_generations SET sealed_at = clock_timestamp() WHERE generation = current_generation;
          INSERT INTO idempotency_generations (generation, started_at) VALUES (next_generation, clock_timestamp());
        END IF;

        FOR spent IN SELECT generation FROM idempotency_generations WHERE sealed_at < clock_timestamp() - keep LOOP
          BEGIN
            EXECUTE format('DROP TABLE idempotency_keys_%s', spent);
            DELETE FROM idempotency_generations WHERE generation = spent;
          EXCEPTION WHEN lock_not_available THEN
            -- Being vacuumed, for instance: what is spent may wait for another hour, the turn may not.
            NULL;
          END;
        END LOOP;
        RETURN next_generation;
      END
      $roll$`);
    await runner.query(`REVOKE ALL ON FUNCTION roll_idempotency_generation(interval) FROM PUBLIC`);
    await runner.query(`GRANT EXECUTE ON FUNCTION roll_idempotency_generation(interval) TO card_auth_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION roll_idempotency_generation(interval)`);
    await runner.query(`DROP TABLE idempotency_keys, idempotency_generations`);
  }
}
