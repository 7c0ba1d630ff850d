import type { Client } from 'pg';
import { type ExplainedStatement, readingOf, storingOf } from '../../../bench/fraud/plans/explained-statements';
import { loadHistory } from '../../../bench/fraud/plans/history';
import { explain, nodesOf, type PlanMode, type PlanNode, scansOf } from '../../../bench/fraud/plans/plan';
import { createTestDatabase } from '../../support/test-database';

const BUSY = 1;
const USUAL = 2;
const INDEX_SCANS = ['Index Scan', 'Index Only Scan'];
const modes: readonly PlanMode[] = ['force_generic_plan', 'force_custom_plan'];

let owner: Client;
let firstCardId: number;

async function planOf({ statement, types, values }: ExplainedStatement, mode: PlanMode): Promise<PlanNode> {
  return (await explain(owner, statement, { types, values, mode })).plan;
}

function kindsOf(plan: PlanNode, table: string): string[] {
  return [...new Set(scansOf(plan, table).map((node) => node['Node Type']))];
}

function buffersOf(plan: PlanNode): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

beforeAll(async () => {
  const test = await createTestDatabase();
  owner = await test.ownerClient('fraud');
  firstCardId = await loadHistory(owner, { cards: 10_000, attempts: 300_000, days: 88, busyAttempts: 30_000 });
  await owner.query(
    `INSERT INTO evaluations (generation, id, caller, merchant_id, payload_hash, score, decision, reasons, rules_hash,
       created_at)
     SELECT 1, gen_random_uuid(), 'checkout', 'mer_demo_0001', sha256(n::text::bytea), 0, 'APPROVE', '[]', sha256('r'),
       now()
     FROM generate_series(1, 50000) n`,
  );
  await owner.query(`ANALYZE evaluations`);
}, 120_000);

describe.each(modes)('%s', (mode) => {
  it('reading the facts of a card touches nothing but indexes, and only the weeks that are asked for', async () => {
    const plan = await planOf(readingOf(USUAL), mode);
    expect(kindsOf(plan, 'attempts')).toEqual(['Index Only Scan']);
    for (const table of ['cards', 'evaluations']) {
      expect(kindsOf(plan, table).filter((kind) => !INDEX_SCANS.includes(kind))).toEqual([]);
      expect(kindsOf(plan, table)).toHaveLength(1);
    }
    const weeks = scansOf(plan, 'attempts').map((node) => node['Relation Name']);
    const { rows } = await owner.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'attempts'::regclass ORDER BY name`,
    );
    // 88 days are 13 or 14 weeks; four more are there for the time to come.
    expect(weeks.length).toBeGreaterThanOrEqual(13);
    expect(weeks.length).toBeLessThanOrEqual(14);
    expect(rows.length).toBeGreaterThanOrEqual(weeks.length + 4);
    expect([...weeks].sort()).not.toContain(rows.at(-1)?.name);
  });

  it('a busy card costs 250 rows of one week and no more', async () => {
    const plan = await planOf(readingOf(BUSY), mode);
    const read = scansOf(plan, 'attempts').filter((node) => node['Actual Loops'] > 0);
    expect(read.reduce((sum, node) => sum + node['Actual Rows'], 0)).toBe(250);
    // A Monday's first minutes may look into the week before.
    expect(read.length).toBeLessThanOrEqual(2);
    expect(buffersOf(plan)).toBeLessThan(400);
  });

  it('storing a result finds card and key by their indexes, and looks at no history', async () => {
    const plan = await planOf(storingOf(USUAL, firstCardId + USUAL - 1), mode);
    expect(kindsOf(plan, 'attempts')).toEqual([]);
    for (const table of ['cards', 'evaluations']) {
      expect(kindsOf(plan, table).filter((kind) => !INDEX_SCANS.includes(kind))).toEqual([]);
    }
    const written = nodesOf(plan)
      .filter((node) => node['Node Type'] === 'ModifyTable')
      .map((node) => node['Relation Name']);
    expect(written.sort()).toEqual(['attempts', 'cards', 'cards', 'evaluations']);
    expect(buffersOf(plan)).toBeLessThan(120);
  });
});

it('a plan that reads all of a busy card’s history would be found out', async () => {
  const { statement, ...rest } = readingOf(BUSY);
  const text = statement.text.replace(/LIMIT \(SELECT \d+\)/, '');
  expect(text).not.toBe(statement.text);
  const plan = await planOf({ ...rest, statement: { name: 'fraud_read_all', text } }, 'force_generic_plan');
  const read = scansOf(plan, 'attempts').reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);
  expect(read).toBeGreaterThan(30_000);
});
