import { checkDeviation } from './deviation';

const fileOf = (rate: string) => ({
  version: 1 as const,
  built_on: '2026-11-30',
  provider: 'a test',
  rows: [{ jurisdiction: 'DE', postal_code: null, rate }],
  places_without_estimate: [],
});

describe('the deviation of a row', () => {
  it.each([
    ['just within 0.5 % above', '0.2009', 200_000, 0],
    ['at 0.5 % above', '0.201', 200_000, 0],
    ['a millionth beyond it', '0.201001', 200_000, 1],
    ['at 0.5 % below', '0.199', 200_000, 0],
    ['a millionth beyond it, below', '0.198999', 200_000, 1],
    ['a millionth where the authority says zero', '0.000001', 0, 1],
    ['zero where the authority says zero', '0', 0, 0],
    ['zero where the authority says a millionth', '0', 1, 1],
  ])('%s: %s against %d is %d faults', (_name, rate, authority, faults) => {
    expect(checkDeviation(fileOf(rate), new Map([['DE', authority]])).faults).toHaveLength(faults);
  });

  it('is stated, rounded up', () => {
    expect(checkDeviation(fileOf('0.2'), new Map([['DE', 200_000]])).max).toBe('0');
    expect(checkDeviation(fileOf('0.201'), new Map([['DE', 200_000]])).max).toBe('0.005');
  });

  it('of a row that nobody looked up is a fault', () => {
    expect(checkDeviation(fileOf('0.2'), new Map()).faults).toEqual([
      expect.stringMatching(/DE: the authority has no rate/),
    ]);
  });
});
