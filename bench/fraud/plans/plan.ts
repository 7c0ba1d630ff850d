import type { ClientBase } from 'pg';
import type { Statement } from '../../../src/platform/database/statement';

/** A node of `EXPLAIN (ANALYZE, FORMAT JSON)`; the members that are looked at. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly 'Subplans Removed'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface Explained {
  readonly plan: PlanNode;
  readonly executionMs: number;
}

/** Plans as the lane's connections have them after some executions, and as the first executions are planned. */
export type PlanMode = 'force_generic_plan' | 'force_custom_plan';

export interface ExplainOptions {
  /** PostgreSQL's types of the parameters. */
  readonly types: readonly string[];
  /** SQL expressions, one for each parameter. */
  readonly values: readonly string[];
  readonly mode: PlanMode;
}

/** Runs a statement once and tells how; what it wrote is rolled back. */
export async function explain(client: ClientBase, statement: Statement, options: ExplainOptions): Promise<Explained> {
  const { types, values, mode } = options;
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
    await client.query(`PREPARE explained (${types.join(', ')}) AS ${statement.text}`);
    const execute = `EXECUTE explained (${values.join(', ')})`;
    // The first execution reads pages and plans that later ones find in memory.
    await client.query('SAVEPOINT warm');
    await client.query(execute);
    await client.query('ROLLBACK TO SAVEPOINT warm');
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode; 'Execution Time': number }[] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${execute}`,
    );
    const [first] = rows[0]?.['QUERY PLAN'] ?? [];
    if (first === undefined) throw new Error('There is no plan');
    return { plan: first.Plan, executionMs: first['Execution Time'] };
  } finally {
    await client.query('ROLLBACK');
    await client.query('DEALLOCATE ALL');
  }
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Nodes that read a table, or a partition of it. */
export function scansOf(plan: PlanNode, table: string): PlanNode[] {
  const named = new RegExp(`^${table}(_\\d+)?$`);
  return nodesOf(plan).filter((node) => node['Node Type'].includes('Scan') && named.test(node['Relation Name'] ?? ''));
}
