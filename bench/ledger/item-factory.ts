import { hash } from 'node:crypto';
import type { LedgerItem } from '../../src/lanes/ledger/ledger';

const ACCOUNTS = 500;
const MERCHANTS = 50;

/** Valid items of the demo merchants and accounts, each with a key of its own. */
export class ItemFactory {
  #made = 0;

  /** @param run tells the keys of one run from another's. */
  constructor(private readonly run: string) {}

  batch(count: number): LedgerItem[] {
    return Array.from({ length: count }, () => this.#next());
  }

  #next(): LedgerItem {
    const number = (this.#made += 1);
    const merchantId = `mer_demo_${String(1 + (number % MERCHANTS)).padStart(4, '0')}`;
    const externalTransactionId = `${this.run}-${number}`;
    return {
      merchantId,
      externalTransactionId,
      accountId: `ACC-${String(1 + (number % ACCOUNTS)).padStart(4, '0')}`,
      type: number % 10 === 0 ? 'REFUND' : 'SALE',
      amountMinor: 100 + (number % 9_000),
      currency: 'USD',
      occurredAtMicros: 1_764_504_000_000_000 + number,
      idempotencyKey: hash('sha256', `${merchantId}:${externalTransactionId}`, 'hex'),
    };
  }
}
