import { Engine, type TopLevelCondition } from 'json-rules-engine';
import type { Decision, Reason, Verdict } from '../fraud';
import { type FactName, type Facts, shownFact } from './facts';
import type { Condition, Rule, RuleSet } from './rule-file';

const SCORE_MAX = 100;

interface CompiledRule {
  readonly rule: Rule;
  /** In the order in which the rule names them, each once. */
  readonly facts: readonly FactName[];
}

/** Scores payments by the rules of a file. */
export class Judge {
  readonly #rules: readonly CompiledRule[];
  readonly #set: RuleSet;
  readonly #engine: Engine;
  #last: Promise<unknown> = Promise.resolve();

  constructor(set: RuleSet) {
    this.#set = set;
    this.#rules = set.rules.map((rule) => ({ rule, facts: [...new Set(factsOf(rule.when))] }));
    this.#engine = new Engine();
    for (const { id, when } of set.rules) {
      this.#engine.addRule({ name: id, conditions: when as TopLevelCondition, event: { type: id } });
    }
  }

  /** SHA-256 of the rules. */
  get rulesHash(): Buffer {
    return this.#set.hash;
  }

  /**
   * One run after another: an engine that a second run enters before the first has ended passes over rules in silence
   * (json-rules-engine 7.3.1, `Engine.status` is one for all runs), and what it passes over scores nothing. Runs wait
   * for nothing but the processor, so the order costs no time.
   */
  judge(facts: Facts): Promise<Verdict> {
    const verdict = this.#last.then(() => this.#run(facts));
    this.#last = verdict.catch(() => undefined);
    return verdict;
  }

  /** What a score advises. */
  decisionOf(score: number): Decision {
    if (score >= this.#set.declineFrom) return 'DECLINE';
    return score >= this.#set.reviewFrom ? 'REVIEW' : 'APPROVE';
  }

  async #run(facts: Facts): Promise<Verdict> {
    const { results, failureResults } = await this.#engine.run({ ...facts });
    if (results.length + failureResults.length !== this.#rules.length) {
      throw new Error('The rules engine has passed over rules');
    }
    const fired = new Set(results.map(({ name }) => name));
    const reasons = this.#rules.filter(({ rule }) => fired.has(rule.id)).map((each) => reasonOf(each, facts));
    // The gravest first; the file's order among equals.
    reasons.sort((a, b) => b.points - a.points);
    const sum = reasons.reduce((total, { points }) => total + points, 0);
    const score = Math.min(SCORE_MAX, Math.max(0, sum));
    return { score, decision: this.decisionOf(score), reasons };
  }
}

function factsOf(condition: Condition): FactName[] {
  if ('all' in condition) return condition.all.flatMap(factsOf);
  if ('any' in condition) return condition.any.flatMap(factsOf);
  if ('not' in condition) return factsOf(condition.not);
  return [condition.fact];
}

function reasonOf({ rule, facts: names }: CompiledRule, facts: Facts): Reason {
  const text = rule.text.replace(/\{([^}]*)\}/g, (_, name: FactName) => String(shownFact(name, facts)));
  const shown = Object.fromEntries(names.map((name) => [name, shownFact(name, facts)]));
  return { rule: rule.id, points: rule.points, text, facts: shown };
}
