import type { AnswerRow } from '../harness/answer-log';
import type { LaneSample } from '../harness/lane-watch';
import { CARDS, cut, firstTryShare, fullShare, QUOTES, recoveryMs } from './cut';
import { phasesOf, quoteStages } from './schedule';

const CODES = ['', 'ERR_TAX_BULKHEAD_SATURATED', 'ERR_TAX_PROVIDER_UNAVAILABLE', 'ERR_INTERNAL'];
const STARTED_MS = 1_000_000;

function row(change: Partial<AnswerRow> & { second: number }): AnswerRow {
  const { second, ...rest } = change;
  const usual = { target: CARDS, latencyMs: 5, serviceMs: 4, status: 201, code: 0, attempt: 0, estimate: false };
  return { ...usual, dueMs: STARTED_MS + second * 1_000, ...rest };
}

const shape = { warmS: 2, pairs: 2, phaseS: 10, settleS: 3, mainS: 20, recoveryS: 5 };

test('phases follow one another, and only the brownouts have the whole load of quotes', () => {
  const phases = phasesOf(shape);
  expect(phases.map(({ kind, fromS, toS }) => `${kind} ${fromS}-${toS}`)).toEqual([
    'warm 0-2',
    'settle 2-5',
    'quiet 5-15',
    'brownout 15-25',
    'settle 25-28',
    'quiet 28-38',
    'brownout 38-48',
    'settle 48-51',
    'main 51-71',
    'recovery 71-76',
  ]);
  expect(quoteStages(phases, 150).map(({ rate }) => rate)).toEqual([20, 0, 0, 150, 0, 0, 150, 0, 150, 150]);
});

test('an answer counts in the phase and the second in which its request was due', () => {
  const phases = phasesOf(shape);
  const rows = [
    row({ second: 14.999, latencyMs: 9_000 }),
    row({ second: 15, latencyMs: 20 }),
    row({ second: 15.5, latencyMs: 40, status: 429 }),
    row({ second: 16, latencyMs: 30, attempt: 1 }),
    row({ second: 16, status: 503 }),
    // Beyond the schedule.
    row({ second: 76, latencyMs: 1 }),
  ];
  const { phases: cutPhases, seconds } = cut(rows, CODES, phases, STARTED_MS);
  expect(cutPhases[2]).toMatchObject({ cards: { max: 9_000 }, cardsFirstTry: 1 });
  expect(cutPhases[3]).toMatchObject({ cards: { max: 40 }, cardsFirstTry: 1, cards5xx: 1 });
  expect(seconds).toHaveLength(76);
  expect(seconds[15]).toMatchObject({ cardsP99Ms: 40, cardsRefused: 1 });
});

test('answers to quotes are refusals, failures of a call, taxes, or stray', () => {
  const quote = { second: 52, target: QUOTES, status: 503 };
  const rows = [
    row({ ...quote, code: 1, estimate: true, serviceMs: 2, latencyMs: 100 }),
    row({ ...quote, code: 1, serviceMs: 3 }),
    row({ ...quote, code: 2, estimate: true, serviceMs: 4_000 }),
    row({ ...quote, status: 200, code: 0 }),
    row({ ...quote, status: 500, code: 3 }),
  ];
  const main = cut(rows, CODES, phasesOf(shape), STARTED_MS).phases.find(({ phase }) => phase.kind === 'main');
  expect(main).toMatchObject({
    quotesRefused: 2,
    quotesRefusedWithEstimate: 1,
    quotesFailed: 1,
    quotesAnswered: 1,
    quotesStray: 1,
    refusalMs: { p50: 2.5, max: 3 },
  });
});

test('the share of first tries leaves out repeats, and counts what has no answer against the phase', () => {
  const rows = [
    row({ second: 16 }),
    row({ second: 17 }),
    row({ second: 18, status: 429 }),
    row({ second: 19, attempt: 1 }),
    row({ second: 30 }),
  ];
  const [, , , brownout] = cut(rows, CODES, phasesOf(shape), STARTED_MS).phases;
  expect(firstTryShare(brownout, 0)).toBeCloseTo(2 / 3, 9);
  expect(firstTryShare(brownout, 1)).toBe(0.5);
  expect(firstTryShare(undefined, 0)).toBe(0);
});

const looks = (inUse: readonly number[], everyMs = 250): LaneSample[] =>
  inUse.map((each, index) => ({ atMs: index * everyMs, inUse: each, permits: 15 }) as LaneSample);

describe('recovery', () => {
  test('is reached when fewer than five are in use for a whole second', () => {
    expect(recoveryMs(looks([15, 15, 4, 5, 4, 4, 3, 2, 4]), 0)).toBe(1_000);
  });

  test('five is not fewer than five', () => {
    expect(recoveryMs(looks([5, 5, 5, 5, 5, 5, 5, 5]), 0)).toBeNull();
  });

  test('counts from the restoration, whatever was before it', () => {
    expect(recoveryMs(looks([0, 0, 0, 0, 0, 15, 15, 2, 2, 2, 2, 2]), 1_100)).toBe(650);
  });

  test('is unknown where nobody looked for long enough', () => {
    expect(recoveryMs(looks([15, 4, 4, 4, 4]), 0)).toBeNull();
    expect(recoveryMs([], 0)).toBeNull();
  });
});

test('the share of full looks is that of the time asked for', () => {
  expect(fullShare(looks([0, 15, 15, 14, 15, 0]), 250, 1_250)).toBe(0.75);
  expect(fullShare([], 0, 1_000)).toBe(0);
});
