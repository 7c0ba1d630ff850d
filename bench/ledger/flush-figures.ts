import { rounded } from '../support/statistics';

/** What the server's own histogram of flushes says of a stretch of time. */
export interface FlushFigures {
  readonly flushes: number;
  readonly rowsMean: number;
  /** Within the histogram's buckets by interpolation; the share below is exact. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Of the flushes that took 18 ms at most, which is contract 14's bound for 99 % of them. */
  readonly withinTargetShare: number;
}

export const FLUSH_P99_MS_MAX = 18;
const BUCKET = /^ledger_flush_seconds_bucket\{.*le="([^"]+)"/;

type Metrics = ReadonlyMap<string, number>;

/** Null where nothing was flushed between the two readings. */
export function flushFigures(before: Metrics, after: Metrics): FlushFigures | null {
  const buckets: { readonly ms: number; readonly flushes: number }[] = [];
  for (const [name, value] of after) {
    const edge = BUCKET.exec(name)?.[1];
    if (edge === undefined) continue;
    const ms = edge === '+Inf' ? Infinity : Number(edge) * 1_000;
    buckets.push({ ms, flushes: value - (before.get(name) ?? 0) });
  }
  buckets.sort((left, right) => left.ms - right.ms);
  const flushes = buckets.at(-1)?.flushes ?? 0;
  if (flushes === 0) return null;
  const grown = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const within = buckets.find(({ ms }) => ms === FLUSH_P99_MS_MAX)?.flushes ?? 0;
  const percentile = (share: number): number => rounded(percentileOf(buckets, share * flushes), 2);
  return {
    flushes,
    rowsMean: rounded(grown('ledger_flush_size_sum') / Math.max(1, grown('ledger_flush_size_count')), 1),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    p999Ms: percentile(0.999),
    withinTargetShare: rounded(within / flushes, 5),
  };
}

function percentileOf(buckets: readonly { readonly ms: number; readonly flushes: number }[], rank: number): number {
  let low = { ms: 0, flushes: 0 };
  for (const high of buckets) {
    if (high.flushes >= rank) {
      // Of what is beyond the last edge nothing more is known.
      if (high.ms === Infinity) return low.ms;
      const share = (rank - low.flushes) / Math.max(1, high.flushes - low.flushes);
      return low.ms + share * (high.ms - low.ms);
    }
    low = high;
  }
  return low.ms;
}
