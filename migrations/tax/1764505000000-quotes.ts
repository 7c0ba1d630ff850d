import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Quotes of the provider, which are the stored answers of their idempotency keys at once: kept for 7 days and purged by
 * dropping partitions (contract 8). Writers insert into one generation, the current one, and look into the sealed ones;
 * the turn to the next generation waits for the writers under way and holds off new ones, so that uniqueness of a key
 * holds across it exactly.
 *
 * No connection is held while the provider is called, so a key that is being worked on cannot be an uncommitted row. It
 * is a row of `quote_claims` with a lease: a process that was killed holds a key up for as long, and no longer.
 */
export class Quotes1764505000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE quote_generations (
        generation integer PRIMARY KEY CHECK (generation > 0),
        started_at timestamptz NOT NULL DEFAULT now(),
        sealed_at timestamptz
      )`);
    await runner.query(`
      CREATE UNIQUE INDEX quote_generations_one_current ON quote_generations ((true)) WHERE sealed_at IS NULL`);
    await runner.query(`INSERT INTO quote_generations (generation) VALUES (1)`);
    await runner.query(`
      CREATE TABLE quotes (
        scope_hash bytea NOT NULL CHECK (octet_length(scope_hash) = 32),
        generation integer NOT NULL,
        payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
        id text NOT NULL CHECK (id LIKE 'quo\\_%'),
        caller text NOT NULL,
        currency text NOT NULL,
        figures jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL,
        PRIMARY KEY (scope_hash, generation)
      ) PARTITION BY LIST (generation)`);
    await runner.query(`CREATE INDEX quotes_id ON quotes (id)`);
    await runner.query(`CREATE TABLE quotes_1 PARTITION OF quotes FOR VALUES IN (1)`);
    await runner.query(`GRANT SELECT, INSERT ON quotes TO tax_app`);
    await runner.query(`GRANT SELECT ON quote_generations TO tax_app`);
    // Unlogged: what a crash of the server takes away is leases, and their calls went with it.
    await runner.query(`
      CREATE UNLOGGED TABLE quote_claims (
        scope_hash bytea PRIMARY KEY CHECK (octet_length(scope_hash) = 32),
        payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
        owner uuid NOT NULL,
        leased_until timestamptz NOT NULL
      )`);
    await runner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON quote_claims TO tax_app`);
    await this.createRoll(runner);
  }

  private async createRoll(runner: QueryRunner): Promise<void> {
    const rows = (await runner.query(`SELECT quote_ident(current_schema()) AS schema`)) as { schema: string }[];
    const schema = rows[0]?.schema;
    if (schema === undefined) throw new Error('No schema to create the quotes in');
    // The whole lock at once: taking less first would be a lock upgrade, which deadlocks with a writer that reads before
    // it inserts. 100 ms at most, since every later statement queues behind the waiting lock; it is tried again.
    await runner.query(`
      CREATE FUNCTION roll_quote_generation(age_min interval) RETURNS integer
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
        DELETE FROM quote_claims WHERE leased_until < clock_timestamp() - interval '1 hour';
        PERFORM FROM quote_generations
          WHERE (sealed_at IS NULL AND started_at <= clock_timestamp() - age_min)
             OR sealed_at < clock_timestamp() - keep;
        IF NOT FOUND THEN RETURN NULL; END IF;

        LOCK TABLE ONLY quotes IN ACCESS EXCLUSIVE MODE;

        -- Another process may have rolled while this one waited.
        SELECT generation INTO current_generation FROM quote_generations
          WHERE sealed_at IS NULL AND started_at <= clock_timestamp() - age_min;
        IF FOUND THEN
          next_generation := current_generation + 1;
          EXECUTE format('CREATE TABLE quotes_%s PARTITION OF quotes FOR VALUES IN (%s)',
            next_generation, next_generation);
          UPDATE quote_generations SET sealed_at = clock_timestamp() WHERE generation = current_generation;
          INSERT INTO quote_generations (generation, started_at) VALUES (next_generation, clock_timestamp());
        END IF;

        FOR spent IN SELECT generation FROM quote_generations WHERE sealed_at < clock_timestamp() - keep LOOP
          BEGIN
            EXECUTE format('DROP TABLE quotes_%s', spent);
            DELETE FROM quote_generations WHERE generation = spent;
          EXCEPTION WHEN lock_not_available THEN
            -- Being vacuumed, for instance: what is spent may wait for another hour, the turn may not.
            NULL;
          END;
        END LOOP;
        RETURN next_generation;
      END
      $roll$`);
    await runner.query(`REVOKE ALL ON FUNCTION roll_quote_generation(interval) FROM PUBLIC`);
    await runner.query(`GRANT EXECUTE ON FUNCTION roll_quote_generation(interval) TO tax_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP FUNCTION roll_quote_generation(interval)`);
    await runner.query(`DROP TABLE quote_claims, quotes, quote_generations`);
  }
}
