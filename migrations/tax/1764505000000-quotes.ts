import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createKeyGenerations, dropKeyGenerations, type KeyGenerations } from '../key-generations';

/** Quotes of the provider, which are the stored answers of their idempotency keys at once. */
const quotes: KeyGenerations = {
  keys: 'quotes',
  generations: 'quote_generations',
  roll: 'roll_quote_generation',
  keyColumn: 'scope_hash',
  columns: `
    scope_hash bytea NOT NULL CHECK (octet_length(scope_hash) = 32),
    generation integer NOT NULL,
    payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
    id text NOT NULL CHECK (id LIKE 'quo\\_%'),
    caller text NOT NULL,
    currency text NOT NULL,
    figures jsonb NOT NULL,
    created_at timestamptz(3) NOT NULL`,
  role: 'tax_app',
};

/**
 * No connection is held while the provider is called, so a key that is being worked on cannot be an uncommitted row. It
 * is a row of `quote_claims` with a lease: a process that was killed holds a key up for as long, and no longer.
 */
export class Quotes1764505000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createKeyGenerations(runner, quotes);
    await runner.query(`CREATE INDEX quotes_id ON quotes (id)`);
    // Unlogged: what a crash of the server takes away is leases, and their calls went with it.
    await runner.query(`
      CREATE UNLOGGED TABLE quote_claims (
        scope_hash bytea PRIMARY KEY CHECK (octet_length(scope_hash) = 32),
        payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
        owner uuid NOT NULL,
        leased_until timestamptz NOT NULL
      )`);
    await runner.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON quote_claims TO tax_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE quote_claims`);
    await dropKeyGenerations(runner, quotes);
  }
}
