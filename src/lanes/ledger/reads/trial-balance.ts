import type { StatementRunner } from '../../../platform/database/statement';
import {
  generationsToSum,
  materialisedSums,
  sumsOfGenerations,
  sumsOfRows,
  totalsOfCurrencies,
} from './trial-balance.statements';

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
}

interface GenerationRow {
  readonly generation: number;
  readonly blocks: number;
  readonly kept: boolean;
}

interface AccountRow {
  readonly account_no: number;
  readonly debits: string;
  readonly credits: string;
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
 * The journal's rows against what is kept of them. Of a sealed generation, which never changes, the sums were taken from its
 * rows once; the rest is read row by row, in parts, each a statement of its own: rows before the roll-up's mark are all there
 * and never change, so that the parts fit together although time passes between them.
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
  const generations = await store.query<GenerationRow>(generationsToSum, [throughId]);
  const sums = new Map<number, Sums>();
  const summed = generations.filter((each) => each.kept).map(({ generation }) => generation);
  for (const { account_no, debits, credits } of await store.query<AccountRow>(sumsOfGenerations, [summed])) {
    sumsOf(sums, account_no).debits += BigInt(debits);
    sumsOf(sums, account_no).credits += BigInt(credits);
  }
  for (const each of generations) if (!each.kept) await addRows(store, sums, each, throughId);
  const accounts = kept.filter(({ account_no }) => account_no !== null);
  return accounts.length === sums.size && accounts.every((row) => agrees(row, sums.get(row.account_no as number)));
}

async function addRows(
  store: StatementRunner,
  sums: Map<number, Sums>,
  { generation, blocks }: GenerationRow,
  throughId: string,
): Promise<void> {
  for (let from = 0; from < blocks; from += BLOCKS_AT_ONCE) {
    const values = [generation, from, from + BLOCKS_AT_ONCE, throughId];
    for (const { debit_account_no, credit_account_no, amount } of await store.query<RowsRow>(sumsOfRows, values)) {
      sumsOf(sums, debit_account_no).debits += BigInt(amount);
      sumsOf(sums, credit_account_no).credits += BigInt(amount);
    }
  }
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
