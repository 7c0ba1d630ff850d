import type { Statement } from '../../../platform/database/statement';

/** The other side of a currency's entries, made with its first account: 1 currency. */
export const openClearingAccount: Statement = {
  name: 'ledger_open_clearing_account',
  text: `
INSERT INTO ledger_accounts (account_id, currency) VALUES ('CLEARING-' || $1::text, $1::text)
ON CONFLICT (account_id) DO NOTHING`,
};

/** 1 account, 2 currency. Returns a row where it was not there. */
export const openAccount: Statement = {
  name: 'ledger_open_account',
  text: `
INSERT INTO ledger_accounts (account_id, currency, clearing_no)
SELECT $1::text, $2::text, c.account_no FROM ledger_accounts c WHERE c.account_id = 'CLEARING-' || $2::text
ON CONFLICT (account_id) DO NOTHING
RETURNING account_id`,
};

/** An account and what it holds: every entry that has been committed before this statement began. 1 account. */
export const findAccount: Statement = {
  name: 'ledger_find_account',
  text: `
SELECT account_id, currency, status, debits_minor::text AS debits, credits_minor::text AS credits,
  (credits_minor - debits_minor)::text AS balance, created_at
FROM ledger_account_totals WHERE account_id = $1::text`,
};

export const accountStatements: readonly Statement[] = [openClearingAccount, openAccount, findAccount];
