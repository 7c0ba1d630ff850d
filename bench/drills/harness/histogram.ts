/** One histogram of a process's `/metrics`, between two readings of it. */
export interface HistogramFigures {
  readonly count: number;
  /** Interpolated within their bucket, as Prometheus' own `histogram_quantile` does. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The upper bound of the last bucket with anything in it: no observation was longer. Infinity beyond all buckets. */
  readonly maxMsBound: number;
}

type Metrics = ReadonlyMap<string, number>;

interface Bucket {
  readonly boundS: number;
  /** Observations up to the bound. */
  readonly count: number;
}

/** Null where nothing was observed between the readings. `labels` as they are written, without `le`. */
export function histogramBetween(
  name: string,
  labels: string,
  before: Metrics,
  after: Metrics,
): HistogramFigures | null {
  const buckets = bucketsOf(name, labels, before, after);
  const count = buckets.at(-1)?.count ?? 0;
  if (count === 0) return null;
  const full = buckets.find((bucket) => bucket.count === count);
  return {
    count,
    p50Ms: quantileS(buckets, 0.5) * 1_000,
    p99Ms: quantileS(buckets, 0.99) * 1_000,
    maxMsBound: (full?.boundS ?? Infinity) * 1_000,
  };
}

function bucketsOf(name: string, labels: string, before: Metrics, after: Metrics): Bucket[] {
  const buckets: Bucket[] = [];
  for (const [series, value] of after) {
    const match = /^(\w+)_bucket\{(.*)\}$/.exec(series);
    if (match === null || match[1] !== name || !(match[2] ?? '').includes(labels)) continue;
    const bound = /le="([^"]+)"/.exec(match[2] ?? '')?.[1] ?? '';
    const boundS = bound === '+Inf' ? Infinity : Number(bound);
    buckets.push({ boundS, count: value - (before.get(series) ?? 0) });
  }
  return buckets.sort((left, right) => left.boundS - right.boundS);
}

function quantileS(buckets: readonly Bucket[], share: number): number {
  const rank = share * (buckets.at(-1)?.count ?? 0);
  const index = buckets.findIndex(({ count }) => count >= rank);
  const bucket = buckets[index];
  const [fromS, below] = [buckets[index - 1]?.boundS ?? 0, buckets[index - 1]?.count ?? 0];
  if (bucket === undefined) return Infinity;
  if (bucket.boundS === Infinity) return Infinity;
  const inside = bucket.count - below;
  return inside === 0 ? bucket.boundS : fromS + ((bucket.boundS - fromS) * (rank - below)) / inside;
}
