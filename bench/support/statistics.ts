/** A figure over several runs. With few runs the extremes say more than a deviation would. */
export interface Spread {
  readonly runs: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Null for no values: no median of nothing is 0. */
export function spreadOf(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((left, right) => left - right);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return null;
  return { runs: sorted.length, median: percentileOfSorted(sorted, 0.5), min, max };
}

/** The smallest value that at least this share of the sorted values does not exceed; of an even number, the mean of the middle two. */
export function percentileOfSorted(sorted: readonly number[], share: number): number {
  const rank = share * sorted.length;
  const at = (index: number): number => sorted[Math.min(Math.max(index, 0), sorted.length - 1)] ?? Number.NaN;
  if (share === 0.5 && Number.isInteger(rank)) return (at(rank - 1) + at(rank)) / 2;
  return at(Math.ceil(rank) - 1);
}

export function rounded(value: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}
