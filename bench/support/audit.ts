import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ClientBase } from 'pg';
import { laneTable } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import { scopeHashOf } from '../../src/ingress/keyed-request';
import { AUTHORIZATION_PREFIX } from '../../src/lanes/authorization/authorization-id';
import { parsePublicId } from '../../src/shared/public-id';

const ROWS_PER_STATEMENT = 5_000;
const PATH = '/v1/authorizations';

export interface AuditResult {
  /** Answers 201 of the whole run, warm-up included. */
  readonly answered: number;
  /** Sent and never answered, or answered with a refusal: their rows may or may not be there. */
  readonly otherwise: number;
  /** Answers whose id stands under their key in the database, once. */
  readonly found: number;
  /** Rows of the run's caller. */
  readonly rows: number;
  /** What the cards hold equals the sum of what is approved, over the whole database. */
  readonly holdsAgree: boolean;
  /** Every answer is there exactly once, no other row was answered for, and the sums agree. */
  readonly passed: boolean;
}

/** Whether every authorization that was answered is in the database exactly once, and no money is held without one. */
export async function auditAuthorizations(adminUrl: string, caller: string, answersFile: string): Promise<AuditResult> {
  return withClient(adminUrl, async (client) => {
    await client.query(`SET search_path = ${laneTable.authorization.datasource.schema}`);
    await client.query('CREATE TEMPORARY TABLE answers (scope_hash bytea NOT NULL, id uuid NOT NULL)');
    const { answered, otherwise } = await loadAnswers(client, caller, answersFile);
    const [counts] = (
      await client.query<{ found: number; distinct_ids: number; rows: number; holds_agree: boolean }>(
        `SELECT
           (SELECT count(*)::int FROM answers JOIN idempotency_keys k USING (scope_hash)
              JOIN authorizations a ON a.id = k.resource_id
            WHERE a.id = answers.id AND a.caller = $1) AS found,
           (SELECT count(DISTINCT id)::int FROM answers) AS distinct_ids,
           (SELECT count(*)::int FROM authorizations WHERE caller = $1) AS rows,
           (SELECT coalesce(sum(held_minor), 0) FROM cards) = (
             SELECT coalesce(sum(amount_minor - reversed_minor - expired_minor - refunded_minor), 0)
             FROM authorizations WHERE response_code = '00') AS holds_agree`,
        [caller],
      )
    ).rows;
    if (counts === undefined) throw new Error('The audit found nothing to say');
    const { found, distinct_ids: distinctIds, rows, holds_agree: holdsAgree } = counts;
    const once = found === answered && distinctIds === answered && rows >= answered && rows <= answered + otherwise;
    return { answered, otherwise, found, rows, holdsAgree, passed: once && holdsAgree };
  });
}

interface AnswerLine {
  readonly key: string;
  readonly status: number | null;
  readonly id: string | null;
}

async function loadAnswers(
  client: ClientBase,
  caller: string,
  answersFile: string,
): Promise<{ answered: number; otherwise: number }> {
  let [answered, otherwise] = [0, 0];
  let scopes: Buffer[] = [];
  let ids: string[] = [];
  const flush = async (): Promise<void> => {
    await client.query('INSERT INTO answers SELECT * FROM unnest($1::bytea[], $2::uuid[])', [scopes, ids]);
    scopes = [];
    ids = [];
  };
  for await (const line of createInterface({ input: createReadStream(answersFile) })) {
    const { key, status, id } = JSON.parse(line) as AnswerLine;
    if (status !== 201) {
      otherwise += 1;
      continue;
    }
    const rowId = id === null ? null : parsePublicId(AUTHORIZATION_PREFIX, id);
    if (rowId === null) throw new Error(`A 201 without an id that could be one: ${id}`);
    answered += 1;
    scopes.push(scopeHashOf({ caller, method: 'POST', path: PATH, key }));
    ids.push(rowId);
    if (ids.length === ROWS_PER_STATEMENT) await flush();
  }
  await flush();
  return { answered, otherwise };
}
