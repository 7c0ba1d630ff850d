import fc from 'fast-check';
import { Engine, type TopLevelCondition } from 'json-rules-engine';
import type { Facts } from './facts';
import { Judge } from './judge';
import { parseRules } from './rule-file';

const usual: Facts = {
  amount_minor: 123_456,
  currency: 'USD',
  country: 'US',
  country_risk: 'LOW',
  merchant_risk: 'LOW',
  card_new: false,
  card_age_hours: 5_000,
  card_attempts_5m: 0,
  card_attempts_1h: 0,
  card_attempts_24h: 0,
  card_declines_24h: 0,
  card_merchants_1h: 0,
  card_countries_24h: 0,
  country_new: false,
  amount_samples: 10,
  amount_to_usual: 1,
};

interface WrittenRule {
  readonly id: string;
  readonly points: number;
  readonly text?: string;
  readonly when: object;
}

function judgeOf(rules: readonly WrittenRule[], review_from = 40, decline_from = 70): Judge {
  const written = rules.map((rule) => ({ text: '-', ...rule }));
  return new Judge(parseRules(JSON.stringify({ decisions: { review_from, decline_from }, rules: written }), 'test'));
}

const always = { all: [{ fact: 'card_new', operator: 'equal', value: false }] };
const attempts = (atLeast: number): object => ({
  all: [{ fact: 'card_attempts_5m', operator: 'greaterThanInclusive', value: atLeast }],
});

describe('a judge', () => {
  it.each([
    [39, 'APPROVE'],
    [40, 'REVIEW'],
    [69, 'REVIEW'],
    [70, 'DECLINE'],
    [100, 'DECLINE'],
  ])('a score of %d means %s', async (points, decision) => {
    const verdict = await judgeOf([{ id: 'a', points, when: always }]).judge(usual);
    expect([verdict.score, verdict.decision]).toEqual([points, decision]);
  });

  it.each([
    [[60, 41], 100],
    [[60, 40], 100],
    [[60, 39], 99],
    [[5, -6], 0],
    [[5, -5], 0],
    [[5, -4], 1],
    [[-10], 0],
  ])('points of %j make a score of %d', async (points, score) => {
    const rules = points.map((each, index) => ({ id: `r${index}`, points: each, when: always }));
    expect((await judgeOf(rules).judge(usual)).score).toBe(score);
  });

  it('without a reason approves with 0', async () => {
    expect(await judgeOf([{ id: 'a', points: 100, when: attempts(1) }]).judge(usual)).toEqual({
      score: 0,
      decision: 'APPROVE',
      reasons: [],
    });
  });

  it('tells rule, points, text and the facts that the rule looked at, the gravest first, amounts masked', async () => {
    const judge = judgeOf([
      { id: 'small', points: 1, text: 'in {country}', when: always },
      {
        id: 'large',
        points: 30,
        text: '{amount_minor} is {amount_to_usual} times the usual',
        when: {
          any: [
            { fact: 'amount_to_usual', operator: 'greaterThan', value: 5 },
            { all: [{ fact: 'amount_minor', operator: 'greaterThan', value: 10 }] },
            { not: { fact: 'country', operator: 'in', value: ['DE'] } },
          ],
        },
      },
    ]);
    const { reasons } = await judge.judge({ ...usual, amount_to_usual: 7.654 });
    expect(reasons).toEqual([
      {
        rule: 'large',
        points: 30,
        text: '**** is 7.7 times the usual',
        facts: { amount_to_usual: 7.7, amount_minor: '****', country: 'US' },
      },
      { rule: 'small', points: 1, text: 'in US', facts: { card_new: false } },
    ]);
    expect(JSON.stringify(reasons)).not.toContain('123456');
  });

  it('obeys a rule that was added to the data', async () => {
    const before = [{ id: 'a', points: 10, when: always }];
    const added = {
      id: 'night_club',
      points: 65,
      when: { all: [{ fact: 'country', operator: 'equal', value: 'US' }] },
    };
    expect((await judgeOf(before).judge(usual)).decision).toBe('APPROVE');
    expect((await judgeOf([...before, added]).judge(usual)).decision).toBe('DECLINE');
  });

  it('knows its rules by their hash', () => {
    const [a, b] = [1, 2].map((points) => judgeOf([{ id: 'a', points, when: always }]).rulesHash.toString('hex'));
    expect(a).not.toBe(b);
  });
});

describe('judgements side by side', () => {
  const thresholds = Array.from({ length: 12 }, (_, n) => n);
  /** Begins each a few turns of the event loop after the one before, as requests do. */
  async function scores<T>(counts: readonly number[], judge: (facts: Facts) => Promise<T>): Promise<T[]> {
    return Promise.all(
      counts.map(async (count, turns) => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        return judge({ ...usual, card_attempts_5m: count });
      }),
    );
  }
  const counts = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 40 });

  it('score what they would one by one', async () => {
    const judge = judgeOf(thresholds.map((n) => ({ id: `r${n}`, points: 1, when: attempts(n + 1) })));
    await fc.assert(
      fc.asyncProperty(counts, async (given) => {
        expect((await scores(given, (facts) => judge.judge(facts))).map(({ score }) => score)).toEqual(given);
      }),
      { numRuns: 50 },
    );
  });

  it('which an engine that is shared without order does not: it passes over rules in silence', async () => {
    const engine = new Engine();
    for (const n of thresholds) {
      engine.addRule({ conditions: attempts(n + 1) as TopLevelCondition, event: { type: String(n) } });
    }
    const given = Array.from({ length: 40 }, () => 12);
    const fired = await scores(given, async (facts) => (await engine.run({ ...facts })).results.length);
    expect(fired).not.toEqual(given);
  });
});
