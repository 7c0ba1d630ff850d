import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Estimates that callers were given, and what the provider said of the same orders later (contract 10). One row for a
 * caller's key, however often the key was refused. A sum is stored beside its figures, so that a report adds up columns.
 */
export class Estimates1764505001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE estimates (
        id text PRIMARY KEY CHECK (id LIKE 'quo\\_%'),
        scope_hash bytea NOT NULL UNIQUE CHECK (octet_length(scope_hash) = 32),
        caller text NOT NULL,
        currency text NOT NULL,
        jurisdiction text NOT NULL,
        request jsonb NOT NULL,
        estimate jsonb NOT NULL,
        tax_minor bigint NOT NULL CHECK (tax_minor >= 0),
        served_at timestamptz(3) NOT NULL,
        status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'RECONCILED', 'FAILED')),
        attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz(3) NOT NULL DEFAULT now(),
        failure text,
        provider_figures jsonb,
        provider_tax_minor bigint CHECK (provider_tax_minor >= 0),
        difference_minor bigint GENERATED ALWAYS AS (provider_tax_minor - tax_minor) STORED,
        settled_at timestamptz(3),
        CONSTRAINT estimates_reconciled CHECK ((status = 'RECONCILED') = (provider_tax_minor IS NOT NULL)),
        CONSTRAINT estimates_settled CHECK ((status = 'PENDING') = (settled_at IS NULL))
      )`);
    // What reconciliation looks for, and nothing else: an estimate leaves it when it is settled.
    await runner.query(`CREATE INDEX estimates_due ON estimates (due_at) WHERE status = 'PENDING'`);
    await runner.query(`CREATE INDEX estimates_served ON estimates (served_at)`);
    await runner.query(`GRANT SELECT, INSERT, DELETE ON estimates TO tax_app`);
    await runner.query(
      `GRANT UPDATE (status, attempts, due_at, failure, provider_figures, provider_tax_minor, settled_at)
         ON estimates TO tax_app`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE estimates`);
  }
}
