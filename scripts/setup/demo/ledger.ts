import type { ClientBase } from 'pg';
import type { DemoData } from './demo-data';

/** Contract 15: where the demo merchants settle, one account that is closed, and the clearing accounts. */
const statements = [
  `INSERT INTO ledger_accounts (account_id, currency)
   SELECT 'CLEARING-' || currency, currency FROM unnest(ARRAY['USD', 'EUR', 'JPY', 'KWD']) currency
   ON CONFLICT DO NOTHING`,
  `INSERT INTO ledger_accounts (account_id, currency, status, clearing_no)
   SELECT demo.account_id, demo.currency, demo.status, c.account_no
   FROM (
     SELECT 'ACC-' || lpad(n::text, 4, '0'), 'USD', 'OPEN' FROM generate_series(1, 500) n
     UNION ALL VALUES
       ('ACC-EUR-0001', 'EUR', 'OPEN'),
       ('ACC-JPY-0001', 'JPY', 'OPEN'),
       ('ACC-KWD-0001', 'KWD', 'OPEN'),
       ('ACC-CLOSED', 'USD', 'CLOSED')
   ) AS demo (account_id, currency, status)
   JOIN ledger_accounts c ON c.account_id = 'CLEARING-' || demo.currency
   ON CONFLICT DO NOTHING`,
  // The first plans are made right after this, and should know that the accounts are not empty.
  `ANALYZE ledger_accounts, ledger_numbering, ledger_roll_up`,
];

export const ledgerDemo: DemoData = {
  lane: 'ledger',
  version: 1,
  async load(client: ClientBase): Promise<void> {
    for (const statement of statements) await client.query(statement);
  },
};
