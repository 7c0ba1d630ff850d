import { CompensationTable, type CompensationTableFile } from '../../../src/lanes/tax/compensation/compensation-table';
import { type PaceTime, runAtPace } from './pace';

const file: CompensationTableFile = {
  version: 1,
  built_on: '2026-11-30',
  provider: 'a test',
  rows: [{ jurisdiction: 'DE', postal_code: null, rate: '0.19' }],
  places_without_estimate: [],
};

/** A machine on which every look at the clock costs, and every wait is as long as it was asked for. */
function machine(lookMs: number): PaceTime {
  let nowMs = 0;
  return {
    now: () => (nowMs += lookMs),
    wait: async (ms) => void (nowMs += ms),
  };
}

describe('the run at pace', () => {
  it('passes on a machine that keeps up', async () => {
    const pace = await runAtPace(file, new CompensationTable(file), 1_000, machine(0.001));
    expect(pace).toEqual({ faults: [], perSecond: expect.any(Number) });
    expect(pace.perSecond).toBeGreaterThanOrEqual(1_800);
  });

  it('fails where a second brings fewer than 1,800', async () => {
    const pace = await runAtPace(file, new CompensationTable(file), 1_000, machine(300));
    expect(pace.faults).toEqual([expect.stringMatching(/^\d+ estimates a second, where 1800 are due$/)]);
  });

  it('fails where a row gives no estimate', async () => {
    const unheld = { ...file, places_without_estimate: [{ country: 'DE', regions: [], postal_prefixes: [''] }] };
    const other = { ...unheld, rows: [{ jurisdiction: 'DE', postal_code: '10115', rate: '0.19' }] };
    const pace = await runAtPace(other, new CompensationTable(other), 100, machine(0.001));
    expect(pace.faults).toEqual([expect.stringMatching(/^190 of 190 requests at 1800 a second had no estimate$/)]);
  });
});
