import { candidateName, FEATURES, OURS, SCENARIOS } from './candidate';
import { CANDIDATES } from './candidates/all';
import { assertDone, measureMemory, measureSpeed, type Effort } from './measure';
import { renderTable } from './report';
import { runRounds, type Measurer } from './rounds';
import { spread } from './statistics';

const CALLS = 500;
const EFFORT: Effort = { warmupMs: 0, measureMs: 0, chunk: CALLS };
const named = CANDIDATES.map((candidate) => [candidateName(candidate), candidate] as const);

describe('a candidate of the engine benchmark', () => {
  it.each(named)('does the work it claims: %s', async (_name, candidate) => {
    const subject = candidate.prepare();
    const tally = await subject.run(CALLS);
    subject.close();
    const refuses = candidate.scenario.startsWith('refused');
    expect([tally.admitted, tally.refused]).toEqual(refuses ? [0, CALLS] : [CALLS, 0]);
  });

  it.each(named.filter(([, { does }]) => does.fifo === 'yes'))('keeps the order: %s', async (_name, candidate) => {
    const subject = candidate.prepare();
    const { overtaken } = await subject.run(CALLS);
    subject.close();
    expect(overtaken).toBe(0);
  });

  it('is ours exactly once in each scenario, so that there is a ratio', () => {
    const ours = CANDIDATES.filter(({ peer }) => peer === OURS).map(({ scenario }) => scenario);
    expect(ours.sort()).toEqual(Object.keys(SCENARIOS).sort());
  });

  it.each([
    ['call', 9, 0],
    ['call', 9, 1],
    ['refused call', 1, 9],
    ['hand-off', 5, 4],
  ] as const)('of %s that admitted %i and refused %i of 10 calls is no measurement', (scenario, admitted, refused) => {
    const candidate = CANDIDATES.find((one) => one.scenario === scenario);
    if (candidate === undefined) throw new Error(scenario);
    expect(() => assertDone(candidate, 10, { admitted, refused, overtaken: 0 })).toThrow(scenario);
  });
});

describe('the engine benchmark', () => {
  const measurer: Measurer = {
    speed: (place, effort) => measureSpeed(CANDIDATES[place] as (typeof CANDIDATES)[number], effort),
    memory: (place, effort) => measureMemory(CANDIDATES[place] as (typeof CANDIDATES)[number], effort, () => {}),
  };

  it('runs through, and its table has every candidate and says what each does', async () => {
    const plan = { rounds: 2, speed: EFFORT, memory: EFFORT };
    const candidates = await runRounds(CANDIDATES, plan, measurer);
    const table = renderTable({
      benchmark: 'engine',
      command: '',
      startedAt: '',
      finishedAt: '',
      machine: { cpus: 2, model: 'm', memoryMiB: 1, node: 'v24', kernel: 'k' },
      loadAverage: { before: 0, after: 0 },
      commit: null,
      uncommittedChanges: null,
      versions: { cockatiel: '4.0.0' },
      plan,
      candidates,
    });
    for (const { peer, call } of CANDIDATES) {
      expect(table.split('\n').filter((line) => line.startsWith(`${peer} ${call} `)).length).toBeGreaterThan(1);
    }
    expect(table).toContain(FEATURES.permitKept);
    expect(candidates.map(({ perRound, counted }) => [perRound.length, counted.calls])).toEqual(
      CANDIDATES.map(() => [2, 2 * CALLS]),
    );
  });

  it.each([
    [[3], 3],
    [[4, 1], 2.5],
    [[9, 1, 5], 5],
  ])('has of %j the median %d', (values, median) => {
    expect(spread(values)).toEqual({ median, min: Math.min(...values), max: Math.max(...values) });
  });
});
