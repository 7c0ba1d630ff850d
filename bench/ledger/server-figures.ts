import { rounded } from '../support/statistics';

/** What one of the server's own histograms says of a stretch of time. */
export interface ServerFigures {
  readonly count: number;
  /** Within the histogram's buckets by interpolation; the share below is exact. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** Of those that took no longer than contract 14 allows 99 % of them. */
  readonly withinTargetShare: number;
}

type Metrics = ReadonlyMap<string, number>;

/** From a request's admission to the last outcome of its items. */
export function writeFigures(before: Metrics, after: Metrics): ServerFigures | null {
  return figuresOf('ledger_write_seconds', 38, before, after);
}

export function flushFigures(before: Metrics, after: Metrics): ServerFigures | null {
  return figuresOf('ledger_flush_seconds', 18, before, after);
}

/** Null where nothing was observed between the two readings. */
function figuresOf(name: string, targetMs: number, before: Metrics, after: Metrics): ServerFigures | null {
  const start = `${name}_bucket{`;
  const buckets: { readonly ms: number; readonly count: number }[] = [];
  for (const [labelled, value] of after) {
    const edge = labelled.startsWith(start) ? /le="([^"]+)"/.exec(labelled)?.[1] : undefined;
    if (edge === undefined) continue;
    const ms = edge === '+Inf' ? Infinity : rounded(Number(edge) * 1_000, 3);
    buckets.push({ ms, count: value - (before.get(labelled) ?? 0) });
  }
  buckets.sort((left, right) => left.ms - right.ms);
  const count = buckets.at(-1)?.count ?? 0;
  if (count === 0) return null;
  const target = buckets.find(({ ms }) => ms === targetMs);
  if (target === undefined) throw new Error(`${name} has no bucket of ${targetMs} ms`);
  const percentile = (share: number): number => rounded(percentileOf(buckets, share * count), 2);
  return {
    count,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    p999Ms: percentile(0.999),
    withinTargetShare: rounded(target.count / count, 5),
  };
}

function percentileOf(buckets: readonly { readonly ms: number; readonly count: number }[], rank: number): number {
  let low = { ms: 0, count: 0 };
  for (const high of buckets) {
    if (high.count >= rank) {
      // Of what is beyond the last edge nothing more is known.
      if (high.ms === Infinity) return low.ms;
      const share = (rank - low.count) / Math.max(1, high.count - low.count);
      return low.ms + share * (high.ms - low.ms);
    }
    low = high;
  }
  return low.ms;
}
