import type { CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { rateFromText, taxMinorOf } from '../../../src/lanes/tax/compensation/rate';
import { exactDecimal, roundHalfUp } from '../exact-decimal';

const SMALL_AMOUNTS = 1_000;
/** Around each power of ten and of two up to the largest exact integer. */
const LARGE_AMOUNTS = [10, 20, 30, 40, 50, 53].map((power) => 2 ** power).flatMap((amount) => [amount - 1, amount - 2]);

export interface Rounding {
  readonly faults: readonly string[];
  readonly cases: number;
}

/** Every rate of the table, on every small amount and on the largest there are, against big integers. */
export function checkRounding(file: CompensationTableFile): Rounding {
  const faults: string[] = [];
  const rates = [...new Set(file.rows.map(({ rate }) => rate))];
  const amounts = [...Array.from({ length: SMALL_AMOUNTS }, (_, amount) => amount), ...LARGE_AMOUNTS];
  for (const text of rates) {
    const { units, scale } = exactDecimal(text);
    const rate = rateFromText(text);
    for (const amountMinor of amounts) {
      const right = roundHalfUp({ units: units * BigInt(amountMinor), scale }, 0);
      const ours = taxMinorOf(amountMinor, rate);
      if (right !== BigInt(ours)) faults.push(`${text} of ${amountMinor} is ${right}, not ${ours}`);
    }
  }
  return { faults, cases: rates.length * amounts.length };
}
