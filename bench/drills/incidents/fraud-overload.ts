import { Queue } from 'bullmq';
import { setTimeout as sleep } from 'node:timers/promises';
import { laneTable } from '../../../config/lanes';
import { withClient } from '../../../scripts/setup/postgres-client';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import { judged, limits } from '../recovery/figures';
import type { Findings, Incident, IncidentContext } from './incident';

/** Each evaluation takes this much longer, so that the lane's capacity is known. */
const SLOWED_MS = 300;
const { permits } = laneTable.fraud.bulkhead;
const CAPACITY_PER_S = permits / (SLOWED_MS / 1_000);
const LOAD_FACTOR = 2;
const DRAIN_MS_MAX = 120_000;
const [{ name: QUEUE }] = laneTable.fraud.queues;

/** Fraud at twice its capacity: half of the payments are judged later, and all of them once. */
export const fraudOverload: Incident = {
  name: 'fraud-overload',
  title: 'fraud at twice its capacity, and its overflow drained',
  cards: { firstTryShare: limits.firstTryShare, p99Ms: limits.cardP99Ms },
  mayAnswer5xx: false,
  scope: 'fraud',
  target: ({ system, shape, caller }) => ({
    name: 'fraud-evaluations',
    url: `${system.urlOf('fraud')}/v1/fraud/evaluations`,
    token: caller.token,
    stages: [
      { durationS: shape.beforeS, rate: 0 },
      { durationS: shape.duringS, rate: CAPACITY_PER_S * LOAD_FACTOR },
    ],
  }),
  act: async ({ shape, until, setFaults }) => {
    await setFaults('fraud', { latency_ms: SLOWED_MS });
    const happenedAtMs = Date.now();
    await until(shape.beforeS + shape.duringS);
    await setFaults('fraud', {});
    return happenedAtMs;
  },
  examine: async (context, { rows }): Promise<Findings> => {
    const accepted = rows.filter(({ status }) => status < 300).length;
    const later = rows.filter(({ status }) => status === 202).length;
    const { drainedMs, failed } = await drain(context);
    const results = await countResults(context.system.adminUrl, context.caller.subject);
    return {
      fraud_accepted_share: judged(rows.length === 0 ? 0 : accepted / rows.length, 'exactly', 1, 'share'),
      fraud_answered_later: judged(later, 'at least', 1, ''),
      fraud_drained_ms: judged(drainedMs, 'at most', DRAIN_MS_MAX, 'ms'),
      fraud_failed_jobs: judged(failed, 'exactly', 0, ''),
      fraud_results_missing: judged(accepted - results.once, 'exactly', 0, ''),
      fraud_results_twice: judged(results.twice, 'exactly', 0, ''),
    };
  },
};

/** Until nothing of the overflow is left. */
async function drain({ system, closing }: IncidentContext): Promise<{ drainedMs: number | null; failed: number }> {
  const url = system.installation?.environment['REDIS_URL'];
  if (url === undefined) throw new Error('The installation has no Redis');
  const queue = new Queue(QUEUE, { prefix: lanePrefix('fraud'), connection: { url } });
  queue.on('error', () => undefined);
  const fromMs = performance.now();
  try {
    for (;;) {
      closing.check();
      const left = await queue.getJobCountByTypes('wait', 'active', 'delayed');
      const drainedMs = Math.round(performance.now() - fromMs);
      if (left === 0) return { drainedMs, failed: await queue.getJobCountByTypes('failed') };
      if (drainedMs > DRAIN_MS_MAX) return { drainedMs: null, failed: await queue.getJobCountByTypes('failed') };
      await sleep(100);
    }
  } finally {
    await queue.close();
  }
}

async function countResults(adminUrl: string, caller: string): Promise<{ once: number; twice: number }> {
  const { schema } = laneTable.fraud.datasource;
  return withClient(adminUrl, async (client) => {
    const { rows } = await client.query<{ rows: number; ids: number }>(
      `SELECT count(*)::int AS rows, count(DISTINCT id)::int AS ids FROM ${schema}.evaluations WHERE caller = $1`,
      [caller],
    );
    const { rows: all, ids } = rows[0] ?? { rows: 0, ids: 0 };
    return { once: ids, twice: all - ids };
  });
}
