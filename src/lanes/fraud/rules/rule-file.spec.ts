import { join } from 'node:path';
import { factTable } from './facts';
import { parseRules, readRuleFile, RuleFileError } from './rule-file';

const shipped = join(__dirname, '..', '..', '..', '..', 'config', 'fraud', 'rules.json');

const rule = {
  id: 'busy',
  points: 10,
  text: '{card_attempts_5m} attempts',
  when: { all: [{ fact: 'card_attempts_5m', operator: 'greaterThan', value: 5 }] },
};

function fileOf(rules: unknown, decisions: unknown = { review_from: 40, decline_from: 70 }): string {
  return JSON.stringify({ decisions, rules });
}

function faultsOf(text: string): readonly string[] {
  try {
    parseRules(text, 'rules.json');
  } catch (error) {
    if (error instanceof RuleFileError) return error.faults;
    throw error;
  }
  return [];
}

function testing(test: object): string {
  return fileOf([{ ...rule, when: { all: [test] } }]);
}

describe('the rules', () => {
  it('that are shipped are usable, and each fact is used or explained', () => {
    const { rules, reviewFrom, declineFrom, hash } = readRuleFile(shipped);
    expect(rules.length).toBeGreaterThan(10);
    expect([reviewFrom, declineFrom, hash.length]).toEqual([40, 75, 32]);
    for (const { meaning } of Object.values(factTable)) expect(meaning).not.toBe('');
  });

  it('take every operator that a fact has, nested', () => {
    const conditions = [
      ...['equal', 'notEqual', 'lessThan', 'lessThanInclusive', 'greaterThan', 'greaterThanInclusive'].map(
        (operator) => ({
          fact: 'amount_to_usual',
          operator,
          value: 2.5,
        }),
      ),
      { fact: 'country', operator: 'in', value: ['FR', 'DE'] },
      { fact: 'country_risk', operator: 'notIn', value: ['LOW'] },
      { fact: 'merchant_risk', operator: 'notEqual', value: 'LOW' },
      { fact: 'card_new', operator: 'equal', value: true },
    ];
    expect(faultsOf(fileOf([{ ...rule, when: { any: [{ all: conditions }, { not: conditions[0] }] } }]))).toEqual([]);
  });

  it.each([
    [
      'an unknown fact',
      testing({ fact: 'card_colour', operator: 'equal', value: 1 }),
      'busy: no such fact: card_colour',
    ],
    [
      'a fact that is every object’s',
      testing({ fact: 'toString', operator: 'equal', value: 1 }),
      'no such fact: toString',
    ],
    ['an unknown operator', testing({ fact: 'card_new', operator: 'is', value: true }), 'card_new has no operator is'],
    [
      'an operator of other facts',
      testing({ fact: 'country', operator: 'lessThan', value: 'FR' }),
      'no operator lessThan',
    ],
    ['a text for a number', testing({ fact: 'card_attempts_5m', operator: 'equal', value: '5' }), 'must be a number'],
    ['a number for a flag', testing({ fact: 'card_new', operator: 'equal', value: 1 }), 'must be true or false'],
    ['a list for one', testing({ fact: 'country', operator: 'equal', value: ['FR'] }), 'must be a text'],
    ['one for a list', testing({ fact: 'country', operator: 'in', value: 'FR' }), 'must be a list'],
    [
      'a risk that is none',
      testing({ fact: 'country_risk', operator: 'in', value: ['LOW', 'HUGE'] }),
      'LOW, MEDIUM, HIGH',
    ],
    ['a count never reached', testing({ fact: 'card_attempts_5m', operator: 'equal', value: 251 }), 'from 0 to 250'],
    ['a count below all', testing({ fact: 'card_attempts_5m', operator: 'lessThan', value: -1 }), 'from 0 to 250'],
    ['a country that is none', testing({ fact: 'country', operator: 'in', value: ['FR', 'UK'] }), 'ISO 3166-1'],
    ['a currency that is none', testing({ fact: 'currency', operator: 'equal', value: 'usd' }), 'ISO 4217'],
    ['a broken count', testing({ fact: 'card_attempts_5m', operator: 'greaterThan', value: 5.5 }), 'a whole number'],
    ['more than the most', testing({ fact: 'card_attempts_5m', operator: 'greaterThan', value: 250 }), 'never true'],
    ['less than the least', testing({ fact: 'card_attempts_5m', operator: 'lessThan', value: 0 }), 'never true'],
    ['the least or more', testing({ fact: 'amount_minor', operator: 'greaterThanInclusive', value: 1 }), 'always true'],
    [
      'the most or less',
      testing({ fact: 'card_attempts_5m', operator: 'lessThanInclusive', value: 250 }),
      'always true',
    ],
    [
      'a member that comes twice',
      fileOf([rule]).replace('"points":10', '"points":10,"points":90'),
      '/rules/0/points: ',
    ],
    [
      'conditions without end',
      fileOf([rule]).replace(/"when":.*\}\]\}/, `"when":${'{"not":'.repeat(9_999)}1${'}'.repeat(9_999)}}]}`),
      'Nested deeper',
    ],
    ['an id twice', fileOf([rule, rule]), 'rule busy: there is more than one'],
    ['points of 101', fileOf([{ ...rule, points: 101 }]), 'rule busy.points'],
    ['points of -101', fileOf([{ ...rule, points: -101 }]), 'rule busy.points'],
    ['points of 0', fileOf([{ ...rule, points: 0 }]), 'rule busy.points: must not be 0'],
    ['points of a half', fileOf([{ ...rule, points: 0.5 }]), 'rule busy.points'],
    ['no id', fileOf([{ ...rule, id: '' }]), 'rules[0].id'],
    ['a member that nobody knows', fileOf([{ ...rule, priority: 1 }]), 'rule busy: no such member: priority'],
    ['a text of a fact that is none', fileOf([{ ...rule, text: '{card_token}' }]), 'names no such fact: {card_token}'],
    ['no conditions', fileOf([{ ...rule, when: { all: [] } }]), 'rule busy.when'],
    ['no rules', fileOf([]), 'rules'],
    ['thresholds of equal height', fileOf([rule], { review_from: 70, decline_from: 70 }), 'review_from (70)'],
    ['a threshold of 0', fileOf([rule], { review_from: 0, decline_from: 70 }), 'decisions.review_from'],
    ['a threshold of 101', fileOf([rule], { review_from: 40, decline_from: 101 }), 'decisions.decline_from'],
    ['no thresholds', JSON.stringify({ rules: [rule] }), 'decisions'],
    ['no JSON', '{', 'it is not JSON'],
  ])('%s is refused by name', (_what, text, named) => {
    expect(faultsOf(text).join('\n')).toContain(named);
  });

  it('go to the edge of what a fact can be', () => {
    for (const [operator, value] of [
      ['greaterThan', 249],
      ['greaterThanInclusive', 250],
      ['greaterThanInclusive', 1],
      ['lessThan', 1],
      ['lessThanInclusive', 0],
      ['lessThanInclusive', 249],
      ['equal', 0],
      ['notEqual', 250],
    ] as const) {
      expect(faultsOf(testing({ fact: 'card_attempts_5m', operator, value }))).toEqual([]);
    }
  });

  it('points of 100 and -100 are the most and the least', () => {
    expect(
      faultsOf(
        fileOf([
          { ...rule, points: 100 },
          { ...rule, id: 'calm', points: -100 },
        ]),
      ),
    ).toEqual([]);
  });

  it('nest four deep and no deeper', () => {
    const nested = (depth: number): unknown => (depth === 0 ? rule.when.all[0] : { all: [nested(depth - 1)] });
    expect(faultsOf(fileOf([{ ...rule, when: nested(4) }]))).toEqual([]);
    expect(faultsOf(fileOf([{ ...rule, when: nested(5) }])).join()).toContain('nest deeper than 4');
  });

  it('are told of all faults at once, with the file', () => {
    const text = fileOf([rule, rule, { ...rule, id: 'other', text: '{nothing}' }], {
      review_from: 90,
      decline_from: 10,
    });
    expect(() => parseRules(text, '/etc/rules.json')).toThrow('/etc/rules.json');
    expect(faultsOf(text)).toHaveLength(3);
  });

  it('that cannot be read are told of', () => {
    expect(() => readRuleFile('/nowhere/rules.json')).toThrow('it cannot be read (ENOENT)');
  });
});
