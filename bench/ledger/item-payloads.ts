import type { PayloadFactory } from '../load/payloads';

const ACCOUNTS = numbered('ACC-', 500);
const MERCHANTS = numbered('mer_demo_', 50);
/** Contract 15: never an account of this name, so that the journal itself has to refuse the item. */
const NO_ACCOUNT = 'ACC-CORRUPT';

export interface ItemsPlan {
  /** Tells the keys of one run from another's; begins every external transaction id. */
  readonly run: string;
  /** 1: the single-entry door. */
  readonly itemsPerRequest: number;
  /** Of the items, spread evenly. */
  readonly poisonShare: number;
}

/** Bodies for the ledger's doors; each item has a key of its own. */
export function itemPayloads({ run, itemsPerRequest, poisonShare }: ItemsPlan): PayloadFactory {
  let made = 0;
  let poisoned = 0;
  const item = (): string => {
    const number = (made += 1);
    const bad = poisonShare > 0 && number * poisonShare >= poisoned + 1;
    if (bad) poisoned += 1;
    const account = bad ? NO_ACCOUNT : ACCOUNTS[number % ACCOUNTS.length];
    const type = number % 10 === 0 ? 'REFUND' : 'SALE';
    return (
      `{"item_id":"tx_${number}","merchant_id":"${MERCHANTS[number % MERCHANTS.length]}",` +
      `"external_transaction_id":"${run}-${number}","account_id":"${account}","type":"${type}",` +
      `"amount_minor":${100 + (number % 9_000)},"currency":"USD","occurred_at":"2026-11-30T12:00:00.${String(100 + (number % 900))}Z"}`
    );
  };
  return (index) => ({
    key: `${run}-${index}`,
    body: itemsPerRequest === 1 ? item() : `{"items":[${Array.from({ length: itemsPerRequest }, item).join(',')}]}`,
  });
}

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1).padStart(4, '0')}`);
}
