import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../scripts/setup/project';
import type { Facts } from '../../../src/lanes/fraud/rules/facts';
import { Judge } from '../../../src/lanes/fraud/rules/judge';
import { parseRules } from '../../../src/lanes/fraud/rules/rule-file';
import { rounded, type Spread, spreadOf } from '../../support/statistics';

const RULES_FILE = join(projectRoot, 'config', 'fraud', 'rules.json');
/** Copies of the shipped rules, under other ids. */
const COPIES = [1, 2, 4, 8] as const;
const ROUNDS = 5;
const JUDGEMENTS_PER_ROUND = 2_000;

/** What the engine alone takes, one judgement after another, nothing else running in the process. */
export interface RuleCost {
  readonly rules: number;
  readonly microsecondsPerJudgement: Spread | null;
}

/** Some rules fire and most do not, as for a payment that is a little unusual. */
const facts: Facts = {
  amount_minor: 12_345,
  currency: 'USD',
  country: 'FR',
  country_risk: 'UNKNOWN',
  merchant_risk: 'LOW',
  card_new: false,
  card_age_hours: 30,
  card_attempts_5m: 6,
  card_attempts_1h: 7,
  card_attempts_24h: 9,
  card_declines_24h: 0,
  card_merchants_1h: 2,
  card_countries_24h: 1,
  country_new: true,
  amount_samples: 9,
  amount_to_usual: 6.5,
};

/** The sizes in turn, round by round, so that a busy second of the machine falls on all of them. */
export async function measureRuleCost(): Promise<RuleCost[]> {
  const judges = COPIES.map((copies) => judgeOf(copies));
  const times = judges.map((): number[] => []);
  // The first round is the compiler's, and is left out.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [index, { judge }] of judges.entries()) {
      const microseconds = await timeOf(judge);
      if (round > 0) times[index]?.push(microseconds);
    }
  }
  return judges.map(({ rules }, index) => ({ rules, microsecondsPerJudgement: spreadOf(times[index] ?? []) }));
}

/** What one more rule costs: the slope between the smallest and the largest set. */
export function microsecondsPerRule(costs: readonly RuleCost[]): number | null {
  const [first, last] = [costs[0], costs.at(-1)];
  const [least, most] = [first?.microsecondsPerJudgement?.median, last?.microsecondsPerJudgement?.median];
  if (first === undefined || last === undefined || least === undefined || most === undefined) return null;
  return rounded((most - least) / (last.rules - first.rules), 2);
}

async function timeOf(judge: Judge): Promise<number> {
  const startedMs = performance.now();
  for (let index = 0; index < JUDGEMENTS_PER_ROUND; index += 1) await judge.judge(facts);
  return rounded(((performance.now() - startedMs) * 1_000) / JUDGEMENTS_PER_ROUND, 1);
}

function judgeOf(copies: number): { judge: Judge; rules: number } {
  const file = JSON.parse(readFileSync(RULES_FILE, 'utf8')) as { rules: { id: string }[] };
  const rules = Array.from({ length: copies }, (_, copy) =>
    file.rules.map((rule) => (copy === 0 ? rule : { ...rule, id: `${rule.id}_${copy}` })),
  ).flat();
  return { judge: new Judge(parseRules(JSON.stringify({ ...file, rules }), RULES_FILE)), rules: rules.length };
}
