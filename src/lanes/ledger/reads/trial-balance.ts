import type { StatementRunner } from '../../../platform/database/statement';
import { materialisedSums, sumsOfRows, totalsOfCurrencies } from './trial-balance.statements';

/** About 160 MB of the journal, well below the time that a statement has. */
const BLOCKS_AT_ONCE = 20_000;

export interface CurrencyTotals {
  readonly currency: string;
  /** Decimal strings: sums pass 2^53. */
  readonly debits: string;
  readonly credits: string;
}

export interface TrialBalance {
  /** Debits equal credits in every currency, and every materialised balance is the sum of its rows. */
  readonly balanced: boolean;
  readonly currencies: readonly CurrencyTotals[];
}

interface SumRow {
  readonly through_id: string;
  readonly account_no: number | null;
  readonly debits: string | null;
  readonly credits: string | null;
  readonly blocks: number;
}

interface RowsRow {
  readonly debit_account_no: number;
  readonly credit_account_no: number;
  readonly amount: string;
}

interface Sums {
  debits: bigint;
  credits: bigint;
}

/**
 * The whole journal, row by row, against what is kept of it. Read in parts, each a statement of its own: rows before the
 * roll-up's mark are all there and never change, so that the parts fit together although time passes between them.
 */
export async function trialBalance(store: StatementRunner): Promise<TrialBalance> {
  const currencies = await store.query<CurrencyTotals>(totalsOfCurrencies, []);
  return {
    balanced: currencies.every(({ debits, credits }) => debits === credits) && (await sumsAreTrue(store)),
    currencies,
  };
}

async function sumsAreTrue(store: StatementRunner): Promise<boolean> {
  const kept = await store.query<SumRow>(materialisedSums, []);
  const throughId = kept[0]?.through_id ?? '0';
  const blocks = kept[0]?.blocks ?? 0;
  const sums = new Map<number, Sums>();
  for (let from = 0; from < blocks; from += BLOCKS_AT_ONCE) {
    const rows = await store.query<RowsRow>(sumsOfRows, [from, from + BLOCKS_AT_ONCE, throughId]);
    for (const { debit_account_no, credit_account_no, amount } of rows) {
      sumsOf(sums, debit_account_no).debits += BigInt(amount);
      sumsOf(sums, credit_account_no).credits += BigInt(amount);
    }
  }
  const accounts = kept.filter(({ account_no }) => account_no !== null);
  return accounts.length === sums.size && accounts.every((row) => agrees(row, sums.get(row.account_no as number)));
}

function sumsOf(all: Map<number, Sums>, accountNo: number): Sums {
  const known = all.get(accountNo);
  if (known !== undefined) return known;
  const none = { debits: 0n, credits: 0n };
  all.set(accountNo, none);
  return none;
}

function agrees({ debits, credits }: SumRow, summed: Sums | undefined): boolean {
  return summed !== undefined && debits === String(summed.debits) && credits === String(summed.credits);
}
