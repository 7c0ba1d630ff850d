import { setTimeout as sleep } from 'node:timers/promises';
import { laneTable } from '../../../config/lanes';
import { withClient } from '../../../scripts/setup/postgres-client';
import { parsePublicId } from '../../../src/shared/public-id';
import { EVALUATION_PREFIX } from '../../../src/lanes/fraud/evaluation-task';
import type { Closing } from '../../support/closing';
import type { Answers } from './answers';

/** The overflow holds 10,000 jobs and works off some hundreds a second. */
const DRAIN_MS_MAX = 300_000;
const LOOK_MS = 250;

export interface AuditResult {
  /** Every 200 and every 202 has one result and one attempt. */
  readonly passed: boolean;
  readonly evaluated: number;
  readonly queued: number;
  /** From the end of the load until the last result of a 202 was there. */
  readonly drainedMs: number;
  readonly withoutResult: number;
  /** Results, or attempts, more than one for an id. */
  readonly doubled: number;
  /** Results of this caller under ids that no answer has named: of requests without one, or refused after the work. */
  readonly untold: number;
}

/** Waits for the overflow to be worked off, then counts. */
export async function auditEvaluations(
  adminUrl: string,
  caller: string,
  answers: Answers,
  closing: Closing,
): Promise<AuditResult> {
  const evaluated = answers.idsOf(200).map(rowIdOf);
  const queued = answers.idsOf(202).map(rowIdOf);
  const { schema } = laneTable.fraud.datasource;
  return withClient(
    adminUrl,
    async (client) => {
      const missing = async (ids: readonly string[]): Promise<number> => {
        const { rows } = await client.query<{ missing: number }>(
          `SELECT count(*)::integer AS missing FROM unnest($1::uuid[]) AS told (id)
           WHERE NOT EXISTS (SELECT FROM evaluations e WHERE e.id = told.id)`,
          [ids],
        );
        return rows[0]?.missing ?? 0;
      };
      const startedMs = performance.now();
      while ((await missing(queued)) > 0 && performance.now() - startedMs < DRAIN_MS_MAX) {
        closing.check();
        await sleep(LOOK_MS);
      }
      const drainedMs = Math.round(performance.now() - startedMs);
      const { rows } = await client.query<{ doubled: number; untold: number }>(
        `WITH results AS (
           SELECT id, count(*) AS rows FROM evaluations WHERE caller = $1 GROUP BY id
         ), attempted AS (
           SELECT evaluation_id AS id, count(*) AS rows FROM attempts WHERE evaluation_id IN (SELECT id FROM results)
           GROUP BY evaluation_id
         )
         SELECT
           (SELECT count(*)::integer FROM results LEFT JOIN attempted USING (id)
             WHERE results.rows <> 1 OR attempted.rows IS DISTINCT FROM 1) AS doubled,
           (SELECT count(*)::integer FROM results WHERE NOT EXISTS (SELECT FROM unnest($2::uuid[]) AS told (id) WHERE told.id = results.id)) AS untold`,
        [caller, [...evaluated, ...queued]],
      );
      const withoutResult = await missing([...evaluated, ...queued]);
      const { doubled = -1, untold = -1 } = rows[0] ?? {};
      return {
        passed: withoutResult === 0 && doubled === 0,
        evaluated: evaluated.length,
        queued: queued.length,
        drainedMs,
        withoutResult,
        doubled,
        untold,
      };
    },
    { options: `-c search_path=${schema}` },
  );
}

function rowIdOf(id: string): string {
  const rowId = parsePublicId(EVALUATION_PREFIX, id);
  if (rowId === null) throw new Error(`The lane gave an id that is none: ${id}`);
  return rowId;
}
