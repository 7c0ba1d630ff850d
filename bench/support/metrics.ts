const METRICS_MS_MAX = 5_000;

/** One process's counters, by name and labels as they are written. */
export async function readMetrics(url: string): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(METRICS_MS_MAX) });
  if (!response.ok) throw new Error(`${url}/metrics answered ${response.status}`);
  return parseMetrics(await response.text());
}

export function parseMetrics(text: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)/.exec(line);
    if (match !== null) values.set(match[1] ?? '', Number(match[2]));
  }
  return values;
}

/** Mean of what a histogram has observed between two readings; null where it observed nothing. */
export function meanBetween(
  name: string,
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): number | null {
  const grown = (suffix: string): number => (after.get(name + suffix) ?? 0) - (before.get(name + suffix) ?? 0);
  const count = grown('_count');
  return count > 0 ? grown('_sum') / count : null;
}
