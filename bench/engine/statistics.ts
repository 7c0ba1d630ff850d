export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Throws for no values: a figure without a measurement is a fault of the benchmark. */
export function spread(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error('no values');
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] as number;
  const middle = sorted.length >> 1;
  return {
    median: sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  };
}
