import { laneTable } from '../../../config/lanes';
import type { TargetFile } from '../../load/plan-file';
import { readMetrics } from '../../support/metrics';
import type { AnswerRow } from '../harness/answer-log';
import { histogramBetween } from '../harness/histogram';
import { judged, limits } from '../recovery/figures';
import type { Findings, Incident } from './incident';
import { burstStages } from './storm';

const SLOW_MS = 8_000;
const WELL_MS = 10;

const cards = { firstTryShare: limits.firstTryShare, p99Ms: limits.cardP99Ms } as const;

/** The storm of the incident, from a caller that sends what the platform asks for, or does not. */
function storm(keys: boolean): Omit<Incident, 'name' | 'title' | 'examine'> {
  return {
    cards,
    mayAnswer5xx: false,
    scope: 'tax',
    target: ({ system, shape, caller }): TargetFile => ({
      name: 'tax-quotes',
      url: `${system.urlOf('tax')}/v1/tax/quotes`,
      token: caller.token,
      keys,
      stages: [{ durationS: shape.beforeS, rate: 0 }, ...burstStages(shape.duringS)],
    }),
    act: async ({ system, shape, until }) => {
      await until(shape.beforeS - 0.3);
      const happenedAtMs = await system.provider.set({ latency_ms: SLOW_MS });
      await until(shape.beforeS + shape.duringS);
      await system.provider.set({ latency_ms: WELL_MS });
      return happenedAtMs;
    },
  };
}

function share(rows: readonly AnswerRow[], is: (row: AnswerRow) => boolean): number {
  return rows.length === 0 ? 0 : rows.filter(is).length / rows.length;
}

/** Nothing of it is processed: the callers are told to send keys, and the provider hears of none. */
const stormWithoutKeys: Incident = {
  ...storm(false),
  name: 'storm-without-keys',
  title: "the incident's storm, without idempotency keys",
  examine: async ({ watch }, { rows, codes }): Promise<Findings> => ({
    storm_answers: judged(rows.length, 'at least', 1, ''),
    storm_refused_unprocessed: judged(
      share(rows, ({ status, code }) => status === 400 && codes[code] === 'ERR_BACKOFF_HEADERS_REQUIRED'),
      'exactly',
      1,
      'share',
    ),
    tax_in_use_max: judged(Math.max(...watch.samples.tax.map(({ inUse }) => inUse)), 'exactly', 0, ''),
  }),
};

/** Each is a request that may be good: what there is no permit for is refused in time, with an estimate. */
const stormWithFreshKeys: Incident = {
  ...storm(true),
  name: 'storm-with-fresh-keys',
  title: "the incident's storm, each request under a key of its own",
  examine: async ({ system }, { rows, codes }): Promise<Findings> => {
    const refused = rows.filter(({ code }) => codes[code] === laneTable.tax.full.code);
    const label = `bulkhead="${laneTable.tax.bulkhead.name}"`;
    const shed = histogramBetween('bulkhead_shed_seconds', label, new Map(), await readMetrics(system.urlOf('tax')));
    return {
      storm_answers: judged(rows.length, 'at least', 1, ''),
      storm_refused: judged(refused.length, 'at least', 1, ''),
      storm_refused_with_estimate: judged(
        share(refused, ({ estimate }) => estimate),
        'exactly',
        1,
        'share',
      ),
      shed_server_p99_ms: judged(shed?.p99Ms ?? null, 'below', limits.shedP99Ms, 'ms'),
    };
  },
};

export const storms: readonly Incident[] = [stormWithoutKeys, stormWithFreshKeys];
