import type { ClientBase } from 'pg';
import type { DemoData } from './demo-data';

/** The merchants of contract 15, two of them of more than low risk, and two countries that nobody lives in. */
const statements = [
  `INSERT INTO merchant_risks (merchant_id, risk)
   SELECT 'mer_demo_' || lpad(n::text, 4, '0'), CASE n WHEN 49 THEN 'MEDIUM' WHEN 50 THEN 'HIGH' ELSE 'LOW' END
   FROM generate_series(1, 50) n
   ON CONFLICT DO NOTHING`,
  `INSERT INTO country_risks (country, risk) VALUES ('BV', 'MEDIUM'), ('HM', 'HIGH') ON CONFLICT DO NOTHING`,
  // The first plans are made right after this, and should know that the tables are not empty.
  `ANALYZE merchant_risks, country_risks, evaluation_generations`,
];

export const fraudDemo: DemoData = {
  lane: 'fraud',
  version: 1,
  async load(client: ClientBase): Promise<void> {
    for (const statement of statements) await client.query(statement);
  },
};
