import type { CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { rateFromText, textOfRate } from '../../../src/lanes/tax/compensation/rate';
import { placeName } from '../authority';

/** |table − authority| ÷ authority may be at most 1 in this many: 0.005 (ADV-UC-01). */
const DEVIATION_ONE_IN = 200;

export interface Deviation {
  readonly faults: readonly string[];
  /** The largest deviation of a row, as a decimal fraction rounded up to a millionth. */
  readonly max: string;
}

/**
 * Each row against its authority, in integers. Where the authority says zero the table must say exactly zero, and a row
 * of which the authority says nothing is a fault: nobody has looked it up.
 */
export function checkDeviation(file: CompensationTableFile, authority: ReadonlyMap<string, number>): Deviation {
  const faults: string[] = [];
  let max = 0;
  for (const { jurisdiction, postal_code: postalCode, rate } of file.rows) {
    const place = placeName(jurisdiction, postalCode);
    const right = authority.get(place);
    const ours = rateFromText(rate);
    if (right === undefined) {
      faults.push(`${place}: the authority has no rate, so ${rate} is a guess`);
    } else if (Math.abs(ours - right) * DEVIATION_ONE_IN > right) {
      faults.push(`${place}: ${rate} is too far from the authority's ${textOfRate(right)}`);
    } else if (right > 0) {
      max = Math.max(max, Math.ceil((Math.abs(ours - right) * 1_000_000) / right));
    }
  }
  return { faults, max: textOfRate(Math.min(max, 1_000_000)) };
}
