import { laneTable } from '../../../config/lanes';
import { judged, told } from '../recovery/figures';
import type { Findings, Incident } from './incident';

const BACK_WITHIN_MS = 15_000;

/** PostgreSQL dies and comes back under all lanes: nothing that was answered is lost, and the pools are full again. */
export const postgresRestart: Incident = {
  name: 'postgres-restart',
  title: 'PostgreSQL killed and started again under all lanes',
  // What runs at that moment is answered 503, and a second time after `Retry-After`.
  cards: { firstTryShare: null, p99Ms: null },
  mayAnswer5xx: true,
  scope: 'fraud',
  target: ({ system, shape, caller }) => ({
    name: 'fraud-evaluations',
    url: `${system.urlOf('fraud')}/v1/fraud/evaluations`,
    token: caller.token,
    rate: 50,
    durationS: shape.beforeS + shape.duringS + shape.afterS,
    retries: true,
  }),
  act: async ({ system, shape, until }) => {
    const { installation } = system;
    if (installation === null) throw new Error('A running system is not for killing');
    installation.watchServices();
    await until(shape.beforeS);
    process.kill(installation.postmasterPid, 'SIGKILL');
    return Date.now();
  },
  examine: async ({ watch }, { rows, happenedAtMs }): Promise<Findings> => {
    const poolsFullAgainMs = (['authorization', 'fraud', 'tax'] as const).map((lane) => {
      const size = laneTable[lane].datasource.connections;
      const short = watch.samples[lane].filter(({ poolOpen }) => poolOpen < size).at(-1);
      return short === undefined ? 0 : short.atMs - happenedAtMs;
    });
    const lastFailure = rows.filter(({ status }) => status >= 500).at(-1);
    return {
      pools_full_again_ms: judged(Math.max(...poolsFullAgainMs), 'at most', BACK_WITHIN_MS, 'ms'),
      last_failed_evaluation_ms: told(lastFailure === undefined ? 0 : lastFailure.dueMs - happenedAtMs, 'ms'),
    };
  },
};
