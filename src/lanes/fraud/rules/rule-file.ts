import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { scanJson } from '../../../ingress/json-scan';
import { factTable, isFactName, type FactKind, type FactName, type NumberFact } from './facts';

/** Points that one rule may give or take; beyond it a single rule would be a decision in disguise of a score. */
const POINTS_MAX = 100;
const RULES_MAX = 200;
const CONDITIONS_MAX = 20;
const NESTING_MAX = 4;

const NUMBER_OPERATORS = [
  'equal',
  'notEqual',
  'lessThan',
  'lessThanInclusive',
  'greaterThan',
  'greaterThanInclusive',
] as const;
const CHOICE_OPERATORS = ['equal', 'notEqual', 'in', 'notIn'] as const;
const FLAG_OPERATORS = ['equal'] as const;

const operatorsOf = {
  number: NUMBER_OPERATORS,
  choice: CHOICE_OPERATORS,
  flag: FLAG_OPERATORS,
} as const satisfies Record<FactKind['type'], readonly string[]>;

export interface Test {
  readonly fact: FactName;
  readonly operator: string;
  readonly value: number | string | boolean | readonly string[];
}
export type Condition =
  Test | { readonly all: readonly Condition[] } | { readonly any: readonly Condition[] } | { readonly not: Condition };

export interface Rule {
  readonly id: string;
  readonly points: number;
  /** For people; `{card_attempts_1h}` stands for a fact. */
  readonly text: string;
  readonly when: { readonly all: readonly Condition[] } | { readonly any: readonly Condition[] };
}

export interface RuleSet {
  readonly rules: readonly Rule[];
  /** From this score on. */
  readonly reviewFrom: number;
  readonly declineFrom: number;
  /** SHA-256 of the file. */
  readonly hash: Buffer;
}

/** The lane must not start: each fault says where in the file it is and what would be right. */
export class RuleFileError extends Error {
  constructor(
    file: string,
    readonly faults: readonly string[],
  ) {
    super(`The fraud rules in ${file} are not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'RuleFileError';
  }
}

const testSchema = z.strictObject({
  fact: z.string(),
  operator: z.string(),
  value: z.union([z.number(), z.string(), z.boolean(), z.array(z.string()).min(1)]),
});
const conditionSchema: z.ZodType<unknown> = z.lazy(() => z.union([allSchema, anySchema, notSchema, testSchema]));
const allSchema = z.strictObject({ all: z.array(conditionSchema).min(1).max(CONDITIONS_MAX) });
const anySchema = z.strictObject({ any: z.array(conditionSchema).min(1).max(CONDITIONS_MAX) });
const notSchema = z.strictObject({ not: conditionSchema });

const fileSchema = z.strictObject({
  decisions: z.strictObject({ review_from: z.int().min(1).max(100), decline_from: z.int().min(1).max(100) }),
  rules: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _'),
        points: z
          .int()
          .min(-POINTS_MAX)
          .max(POINTS_MAX)
          .refine((points) => points !== 0, 'must not be 0'),
        text: z.string().min(1).max(200),
        when: z.union([allSchema, anySchema]),
      }),
    )
    .min(1)
    .max(RULES_MAX),
});

/** @throws RuleFileError with every fault of the file. */
export function readRuleFile(file: string): RuleSet {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new RuleFileError(file, [`it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`]);
  }
  return parseRules(text, file);
}

/** @throws RuleFileError with every fault of the text. */
export function parseRules(text: string, file: string): RuleSet {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RuleFileError(file, [`it is not JSON: ${(error as Error).message}`]);
  }
  // Of two members of one name the parser keeps the last, and says nothing; nesting without end would end the schema.
  const hidden = scanJson(text, false);
  if (hidden.length > 0) {
    throw new RuleFileError(
      file,
      hidden.map(({ pointer, detail }) => `${pointer}: ${detail}`),
    );
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success)
    throw new RuleFileError(
      file,
      parsed.error.issues.flatMap((issue) => faultsOf(issue, value)),
    );
  const { decisions } = parsed.data;
  const rules = parsed.data.rules as readonly Rule[];
  const faults = [
    ...thresholdFaults(decisions.review_from, decisions.decline_from),
    ...duplicateFaults(rules),
    ...rules.flatMap((rule) => [...conditionFaults(rule.when, `rule ${rule.id}`, 0), ...placeholderFaults(rule)]),
  ];
  if (faults.length > 0) throw new RuleFileError(file, faults);
  return {
    rules,
    reviewFrom: decisions.review_from,
    declineFrom: decisions.decline_from,
    hash: hash('sha256', text, 'buffer'),
  };
}

/** A fault by the rule's own name where it has one: nobody counts to the 17th rule of a file. */
function faultsOf({ path, message, ...issue }: z.core.$ZodIssue, file: unknown): string[] {
  const [list, index, ...rest] = path;
  const rule =
    list === 'rules' && typeof index === 'number' ? (file as { rules: { id?: unknown }[] }).rules[index] : null;
  const named = typeof rule?.id === 'string' && rule.id !== '' ? `rule ${rule.id}` : `rules[${String(index)}]`;
  const where = rule === null ? path.map(String).join('.') : [named, ...rest.map(String)].join('.');
  const unknown = issue.code === 'unrecognized_keys' ? (issue as { keys: string[] }).keys : [];
  return [
    `${where === '' ? 'the file' : where}: ${unknown.length > 0 ? `no such member: ${unknown.join(', ')}` : message}`,
  ];
}

function thresholdFaults(reviewFrom: number, declineFrom: number): string[] {
  if (reviewFrom < declineFrom) return [];
  return [`decisions: review_from (${reviewFrom}) must be less than decline_from (${declineFrom})`];
}

function duplicateFaults(rules: readonly Rule[]): string[] {
  const ids = rules.map(({ id }) => id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => `rule ${id}: there is more than one of that id`);
}

function conditionFaults(condition: Condition, where: string, depth: number): string[] {
  if (depth > NESTING_MAX) return [`${where}: conditions nest deeper than ${NESTING_MAX}`];
  if ('all' in condition) return condition.all.flatMap((each) => conditionFaults(each, where, depth + 1));
  if ('any' in condition) return condition.any.flatMap((each) => conditionFaults(each, where, depth + 1));
  if ('not' in condition) return conditionFaults(condition.not, where, depth + 1);
  return testFaults(condition, where);
}

function testFaults({ fact, operator, value }: Test, where: string): string[] {
  if (!isFactName(fact)) {
    return [`${where}: no such fact: ${String(fact)}; there are ${Object.keys(factTable).join(', ')}`];
  }
  const kind: FactKind = factTable[fact];
  const operators: readonly string[] = operatorsOf[kind.type];
  if (!operators.includes(operator)) {
    return [`${where}: ${fact} has no operator ${operator}; it has ${operators.join(', ')}`];
  }
  const fault = valueFault(kind, operator, value);
  return fault === null ? [] : [`${where}: ${fact} ${operator} ${JSON.stringify(value)}: ${fault}`];
}

function valueFault(kind: FactKind, operator: string, value: Test['value']): string | null {
  switch (kind.type) {
    case 'number':
      return typeof value === 'number' ? thresholdFault(kind, operator, value) : 'the value must be a number';
    case 'flag':
      return typeof value === 'boolean' ? null : 'the value must be true or false';
    case 'choice': {
      const many = operator === 'in' || operator === 'notIn';
      if (many !== Array.isArray(value)) return many ? 'the value must be a list' : 'the value must be a text';
      const strange = [value].flat().filter((each) => typeof each !== 'string' || !kind.allows(each));
      return strange.length === 0 ? null : `the fact is one of ${kind.form}`;
    }
    default:
      throw new Error(`Unknown kind of fact ${String(kind satisfies never)}`);
  }
}

/** A test that no payment passes, or every one, looks like a rule and is none. */
function thresholdFault({ min, max, whole }: NumberFact, operator: string, value: number): string | null {
  if (value < min || value > max) return `the fact is from ${min} to ${max}`;
  if (whole === true && !Number.isInteger(value)) return 'the fact is a whole number';
  if ((operator === 'greaterThan' && value === max) || (operator === 'lessThan' && value === min)) {
    return `never true: the fact is from ${min} to ${max}`;
  }
  if ((operator === 'greaterThanInclusive' && value === min) || (operator === 'lessThanInclusive' && value === max)) {
    return `always true: the fact is from ${min} to ${max}`;
  }
  return null;
}

function placeholderFaults({ id, text }: Rule): string[] {
  const names = [...text.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? '');
  return names.filter((name) => !isFactName(name)).map((name) => `rule ${id}: its text names no such fact: {${name}}`);
}
