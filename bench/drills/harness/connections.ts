import { type Lane, LANES, laneTable } from '../../../config/lanes';
import { withClient } from '../../../scripts/setup/postgres-client';

/** A transaction that nobody has spoken in for so long is nobody's any more: lanes hold none across other calls. */
const ABANDONED_AFTER_S = 2;

export interface LaneConnections {
  readonly open: number;
  /** Beyond the pool's size: somebody lost them. */
  readonly beyondPool: number;
  /** In a transaction without a statement for 2 s. */
  readonly abandoned: number;
}

/** The server's own view of who is connected, by the lanes' logins. */
export async function readConnections(
  adminUrl: string,
  poolSizeOf: (lane: Lane) => number,
): Promise<Readonly<Record<Lane, LaneConnections>>> {
  return withClient(adminUrl, async (client) => {
    const { rows } = await client.query<{ role: string; open: number; abandoned: number }>(
      `SELECT usename AS role, count(*)::int AS open,
         (count(*) FILTER (WHERE state LIKE 'idle in transaction%'
            AND state_change < now() - make_interval(secs => $1)))::int AS abandoned
       FROM pg_stat_activity WHERE datname = current_database() AND usename = ANY($2) GROUP BY usename`,
      [ABANDONED_AFTER_S, LANES.map((lane) => laneTable[lane].datasource.role)],
    );
    const entries = LANES.map((lane): [Lane, LaneConnections] => {
      const found = rows.find(({ role }) => role === laneTable[lane].datasource.role) ?? { open: 0, abandoned: 0 };
      const { open, abandoned } = found;
      return [lane, { open, abandoned, beyondPool: Math.max(0, open - poolSizeOf(lane)) }];
    });
    return Object.fromEntries(entries) as Record<Lane, LaneConnections>;
  });
}
