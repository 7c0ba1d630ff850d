import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createKeyGenerations, dropKeyGenerations, type KeyGenerations } from '../key-generations';

/**
 * Results by the id that follows from caller and key: the id is the idempotency key, so a second result cannot be
 * stored. A row is the answer as it was given and is never updated; it lives as long as its key, 7 days.
 */
const evaluations: KeyGenerations = {
  keys: 'evaluations',
  generations: 'evaluation_generations',
  roll: 'roll_evaluation_generation',
  keyColumn: 'id',
  columns: `
    id uuid NOT NULL,
    caller text NOT NULL,
    merchant_id text NOT NULL,
    payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
    score smallint NOT NULL CHECK (score BETWEEN 0 AND 100),
    decision text NOT NULL CHECK (decision IN ('APPROVE', 'REVIEW', 'DECLINE')),
    -- json, not jsonb: the order of members is the answer's own, which is replayed byte for byte.
    reasons json NOT NULL CHECK (json_typeof(reasons) = 'array'),
    -- The rules that judged: SHA-256 of their file, so that an old score can be explained by the rules of its day.
    rules_hash bytea NOT NULL CHECK (octet_length(rules_hash) = 32),
    created_at timestamptz(3) NOT NULL`,
  role: 'fraud_app',
};

export class Evaluations1764504010000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createKeyGenerations(runner, evaluations);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropKeyGenerations(runner, evaluations);
  }
}
