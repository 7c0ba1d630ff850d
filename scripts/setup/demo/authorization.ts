import type { ClientBase } from 'pg';
import type { DemoData } from './demo-data';

/** Contract 15: merchants, where they settle, and the cards. Set by set, so that it takes milliseconds. */
const statements = [
  `INSERT INTO merchants (id)
   SELECT 'mer_demo_' || lpad(n::text, 4, '0') FROM generate_series(1, 50) n
   ON CONFLICT DO NOTHING`,
  `INSERT INTO merchant_settlement_accounts (merchant_id, currency, account_id)
   SELECT 'mer_demo_' || lpad(n::text, 4, '0'), currency,
     CASE currency WHEN 'USD' THEN 'ACC-' || lpad(n::text, 4, '0') ELSE 'ACC-' || currency || '-0001' END
   FROM generate_series(1, 50) n CROSS JOIN unnest(ARRAY['USD', 'EUR', 'JPY', 'KWD']) currency
   ON CONFLICT DO NOTHING`,
  `INSERT INTO cards (token, currency, limit_minor, transaction_limit_minor, status, expires_on)
   SELECT token, currency, limit_minor, 10000000, status,
     CASE WHEN expired THEN date '2024-12-31' ELSE (current_date + interval '10 years')::date END
   FROM (
     SELECT 'card_demo_usd_' || lpad(n::text, 4, '0'), 'USD', 9000000000000, 'ACTIVE', false
     FROM generate_series(1, 1000) n
     UNION ALL VALUES
       ('card_demo_low_usd', 'USD', 50000, 'ACTIVE', false),
       ('card_demo_eur', 'EUR', 9000000000000, 'ACTIVE', false),
       ('card_demo_jpy', 'JPY', 9000000000000, 'ACTIVE', false),
       ('card_demo_kwd', 'KWD', 9000000000000, 'ACTIVE', false),
       ('card_demo_blocked', 'USD', 9000000000000, 'BLOCKED', false),
       ('card_demo_expired', 'USD', 9000000000000, 'ACTIVE', true),
       ('card_demo_lost', 'USD', 9000000000000, 'LOST', false)
   ) AS demo (token, currency, limit_minor, status, expired)
   ON CONFLICT DO NOTHING`,
  // The first plans are made right after this, and should know that the tables are not empty.
  `ANALYZE merchants, merchant_settlement_accounts, cards, idempotency_generations`,
];

export const authorizationDemo: DemoData = {
  lane: 'authorization',
  version: 1,
  async load(client: ClientBase): Promise<void> {
    for (const statement of statements) await client.query(statement);
  },
};
