import type { LaneStore } from '../../../platform/database/statement';
import { findAccount, openAccount, openClearingAccount } from './account.statements';

/** An account with what it holds; sums are decimal strings, since they can pass 2^53. */
export interface Account {
  readonly account_id: string;
  readonly currency: string;
  readonly status: 'OPEN' | 'CLOSED';
  /** Credits minus debits. */
  readonly balance: string;
  readonly debits: string;
  readonly credits: string;
  readonly created_at: Date;
}

export class AccountRepository {
  constructor(private readonly store: LaneStore) {}

  /** @returns whether the account is new; false where there was one of its name, whatever its currency. */
  open(accountId: string, currency: string): Promise<boolean> {
    return this.store.transaction(async (connection) => {
      await connection.query(openClearingAccount, [currency]);
      const opened = await connection.query(openAccount, [accountId, currency]);
      return opened.length === 1;
    });
  }

  async find(accountId: string): Promise<Account | null> {
    const [account] = await this.store.query<Account>(findAccount, [accountId]);
    return account ?? null;
  }
}
