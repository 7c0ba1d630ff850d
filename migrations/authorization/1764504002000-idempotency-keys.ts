import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createKeyGenerations, dropKeyGenerations, type KeyGenerations } from '../key-generations';

const idempotencyKeys: KeyGenerations = {
  keys: 'idempotency_keys',
  generations: 'idempotency_generations',
  roll: 'roll_idempotency_generation',
  keyColumn: 'scope_hash',
  // resource_id names the row whose immutable columns give the stored answer again.
  columns: `
    scope_hash bytea NOT NULL CHECK (octet_length(scope_hash) = 32),
    payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
    resource_id uuid NOT NULL,
    created_at timestamptz NOT NULL`,
  role: 'card_auth_app',
};

/** Answers kept by key for 7 days and purged by dropping partitions (contract 8). */
export class IdempotencyKeys1764504002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createKeyGenerations(runner, idempotencyKeys);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropKeyGenerations(runner, idempotencyKeys);
  }
}
