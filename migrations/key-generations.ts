import type { QueryRunner } from 'typeorm';

/** A lane's table of answers by key, kept for 7 days and purged by dropping partitions (contract 8). */
export interface KeyGenerations {
  /** The table of keys; its partitions are named after it. */
  readonly keys: string;
  /** The table that numbers them. */
  readonly generations: string;
  /** The function that turns from one generation to the next. */
  readonly roll: string;
  /** What the key is: one or more columns of {@link columns}. */
  readonly keyColumn: string;
  /** The columns of `keys`, as SQL; `generation` and the primary key are added. */
  readonly columns: string;
  /** The role of the running lane. */
  readonly role: string;
}

/**
 * Uniqueness over time-partitioned rows is exact because writers always insert into one generation, the current one,
 * and look into the sealed ones, which no longer change. The turn from one generation to the next is the only moment
 * at which that could fail, so the roll waits for the writers under way and holds off new ones; those take their
 * snapshot after they have the table's lock, hence see the new generation and all rows of the old.
 *
 * Migrations that have run are history: a change of this text is for lanes to come, and the others need a migration.
 */
export async function createKeyGenerations(runner: QueryRunner, table: KeyGenerations): Promise<void> {
  const { keys, generations, keyColumn, columns, role } = table;
  await runner.query(`
    CREATE TABLE ${generations} (
      generation integer PRIMARY KEY CHECK (generation > 0),
      started_at timestamptz NOT NULL DEFAULT now(),
      sealed_at timestamptz
    )`);
  await runner.query(
    `CREATE UNIQUE INDEX ${generations}_one_current ON ${generations} ((true)) WHERE sealed_at IS NULL`,
  );
  await runner.query(`INSERT INTO ${generations} (generation) VALUES (1)`);
  await runner.query(`
    CREATE TABLE ${keys} (
      generation integer NOT NULL,
      ${columns},
      PRIMARY KEY (${keyColumn}, generation)
    ) PARTITION BY LIST (generation)`);
  await runner.query(`CREATE TABLE ${keys}_1 PARTITION OF ${keys} FOR VALUES IN (1)`);
  await runner.query(`GRANT SELECT, INSERT ON ${keys} TO ${role}`);
  await runner.query(`GRANT SELECT ON ${generations} TO ${role}`);
  await createRoll(runner, table);
}

export async function dropKeyGenerations(
  runner: QueryRunner,
  { keys, generations, roll }: KeyGenerations,
): Promise<void> {
  await runner.query(`DROP FUNCTION ${roll}(interval)`);
  await runner.query(`DROP TABLE ${keys}, ${generations}`);
}

/** The schema that a function which runs with its owner's rights must not be led out of. */
export async function currentSchema(runner: QueryRunner): Promise<string> {
  const rows = (await runner.query(`SELECT quote_ident(current_schema()) AS schema`)) as { schema: string }[];
  const schema = rows[0]?.schema;
  if (schema === undefined) throw new Error('No schema to create the tables in');
  return schema;
}

async function createRoll(runner: QueryRunner, { keys, generations, roll, role }: KeyGenerations): Promise<void> {
  // The whole lock at once: creating and dropping a partition needs ACCESS EXCLUSIVE anyway, and taking less first
  // would be a lock upgrade, which deadlocks with a transaction that reads keys and then inserts one.
  // ONLY: writers come by way of the parent, and waiting for a vacuum of a partition would hold them up for nothing.
  // 100 ms at most, since every later statement queues behind the waiting lock; a busy moment is tried again.
  await runner.query(`
    CREATE FUNCTION ${roll}(age_min interval) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = ${await currentSchema(runner)}, pg_temp
      SET lock_timeout = '100ms'
    AS $roll$
    DECLARE
      -- The life of a stored answer (contract 8). A sealed generation holds nothing younger than its sealing.
      keep CONSTANT interval := interval '7 days';
      current_generation integer;
      next_generation integer := NULL;
      spent integer;
    BEGIN
      PERFORM FROM ${generations}
        WHERE (sealed_at IS NULL AND started_at <= clock_timestamp() - age_min)
           OR sealed_at < clock_timestamp() - keep;
      IF NOT FOUND THEN RETURN NULL; END IF;

      LOCK TABLE ONLY ${keys} IN ACCESS EXCLUSIVE MODE;

      -- Another process may have rolled while this one waited.
      SELECT generation INTO current_generation FROM ${generations}
        WHERE sealed_at IS NULL AND started_at <= clock_timestamp() - age_min;
      IF FOUND THEN
        next_generation := current_generation + 1;
        EXECUTE format('CREATE TABLE ${keys}_%s PARTITION OF ${keys} FOR VALUES IN (%s)',
          next_generation, next_generation);
        UPDATE ${generations} SET sealed_at = clock_timestamp() WHERE generation = current_generation;
        INSERT INTO ${generations} (generation, started_at) VALUES (next_generation, clock_timestamp());
      END IF;

      FOR spent IN SELECT generation FROM ${generations} WHERE sealed_at < clock_timestamp() - keep LOOP
        BEGIN
          EXECUTE format('DROP TABLE ${keys}_%s', spent);
          DELETE FROM ${generations} WHERE generation = spent;
        EXCEPTION WHEN lock_not_available THEN
          -- Being vacuumed, for instance: what is spent may wait for another hour, the turn may not.
          NULL;
        END;
      END LOOP;
      RETURN next_generation;
    END
    $roll$`);
  await runner.query(`REVOKE ALL ON FUNCTION ${roll}(interval) FROM PUBLIC`);
  await runner.query(`GRANT EXECUTE ON FUNCTION ${roll}(interval) TO ${role}`);
}
