import { LatencyHistogram, type LatencyFigures } from '../latency-histogram';

/**
 * The mistake the generator must not make, kept to prove that its tests would notice: each worker waits for its answer
 * before it sends again and measures from there, so a server that stalls is asked less and looks fast.
 */
export async function runClosedLoop(
  url: string,
  options: { workers: number; rate: number; durationS: number },
): Promise<LatencyFigures | null> {
  const { workers, rate, durationS } = options;
  const histogram = new LatencyHistogram();
  const paceMs = (workers * 1_000) / rate;
  const endMs = performance.now() + durationS * 1_000;
  const work = async (): Promise<void> => {
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      await (await fetch(url, { method: 'POST', body: '{}' })).arrayBuffer();
      const tookMs = performance.now() - sentMs;
      histogram.record(tookMs);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, paceMs - tookMs)));
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
  return histogram.figures();
}
