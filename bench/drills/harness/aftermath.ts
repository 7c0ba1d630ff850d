import { setTimeout as sleep } from 'node:timers/promises';
import { type Lane, LANES } from '../../../config/lanes';
import { readMetrics } from '../../support/metrics';
import type { LaneWatch } from './lane-watch';

/** Whatever was accepted ends within the lanes' own limits. */
const HOME_WITHIN_MS = 15_000;
const HOME_POLL_MS = 100;

export type Metrics = ReadonlyMap<string, number>;

/** In use by callers or waiting, in all lanes; the lanes' own workers may go on with what was left to them. */
export async function waitForPermits(watch: LaneWatch): Promise<number> {
  const endMs = performance.now() + HOME_WITHIN_MS;
  for (;;) {
    await watch.look();
    const out = LANES.map((lane) => watch.last(lane)).reduce(
      (sum, { inUse, background, queued }) => sum + inUse - background + queued,
      0,
    );
    if (out === 0 || performance.now() > endMs) return out;
    await sleep(HOME_POLL_MS);
  }
}

/** Of every process of the system. */
export async function readAllMetrics(urlOf: (lane: Lane) => string): Promise<readonly Metrics[]> {
  return Promise.all([...new Set(LANES.map(urlOf))].map(readMetrics));
}

/** By how much a counter has grown, over all its labels and processes. */
export function grownBy(name: string, before: readonly Metrics[], after: readonly Metrics[]): number {
  const sum = (all: readonly Metrics[]): number =>
    all
      .flatMap((metrics) => [...metrics])
      .reduce((total, [series, value]) => total + (series.startsWith(`${name}{`) ? value : 0), 0);
  return sum(after) - sum(before);
}

/** How often each alert was raised between two readings. */
export function alertsBetween(before: readonly Metrics[], after: readonly Metrics[]): Record<string, number> {
  const raised: Record<string, number> = {};
  after.forEach((metrics, index) => {
    for (const [series, value] of metrics) {
      const alert = /^alerts_total\{alert="(\w+)"\}$/.exec(series)?.[1];
      const grown = value - (before[index]?.get(series) ?? 0);
      if (alert !== undefined && grown > 0) raised[alert] = (raised[alert] ?? 0) + grown;
    }
  });
  return raised;
}
