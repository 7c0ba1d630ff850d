import { exitCodeOf, judge, type Measured } from './figures';
import { renderVerdict } from './print';

const sound: Measured = {
  voidReason: null,
  generatorLagP99Ms: 1.5,
  cards: {
    latencyMs: { p50: 4, p99: 120, p999: 180, max: 300 },
    firstTryShare: 0.999,
    succeededShare: 1,
    answers5xx: 0,
    unanswered: 0,
    p99Ratios: [1.4, 1.1, 0.8],
  },
  tax: {
    fullShare: 0.95,
    refused: 17_000,
    estimateShare: 1,
    strayAnswers: 0,
    shedServerMs: { p50: 0.2, p99: 4.999, maxBound: 40 },
    shedClientMs: { p50: 1, p99: 9, max: 60 },
    recoveryMs: 5_000,
  },
  exampleCallers: { answered: 1, failed: 0 },
  zombiesMax: 0,
  releaseViolations: 0,
  orphanedConnections: 0,
  permitsOut: 0,
  auditFaults: 0,
  alertsRaised: 0,
};

const with_ = (change: {
  [Part in keyof Measured]?: Measured[Part] extends object | null ? Partial<Measured[Part]> : Measured[Part];
}): Measured => ({
  ...sound,
  ...(change as Partial<Measured>),
  cards: { ...sound.cards, ...change.cards },
  tax: { ...sound.tax, ...change.tax },
  exampleCallers: { ...sound.exampleCallers, ...change.exampleCallers },
});

const brokenIn = (measured: Measured, countsOnly = false): string[] =>
  Object.entries(judge(measured, countsOnly).figures)
    .filter(([, { gates, holds }]) => gates && !holds)
    .map(([name]) => name);

test('figures that are exactly at their limits pass', () => {
  const verdict = judge(sound, false);
  expect(brokenIn(sound)).toEqual([]);
  expect(verdict.verdict).toBe('PASSED');
  expect(exitCodeOf(verdict)).toBe(0);
});

describe('each figure that is doctored just beyond its limit fails the run, and is the only one named', () => {
  test.each<[string, Measured]>([
    ['shed_server_p99_ms', with_({ tax: { shedServerMs: { p50: 0.2, p99: 5, maxBound: 10 } } })],
    ['client_answered', with_({ exampleCallers: { answered: 0 } })],
    ['client_failures', with_({ exampleCallers: { failed: 1 } })],
    ['tax_refused', with_({ tax: { refused: 0 } })],
    ['tax_refused_with_estimate', with_({ tax: { estimateShare: 0.9999 } })],
    ['tax_stray_answers', with_({ tax: { strayAnswers: 1 } })],
    ['tax_full_share', with_({ tax: { fullShare: 0.9499 } })],
    ['card_p99_ms', with_({ cards: { latencyMs: { p50: 4, p99: 120.001, p999: 180, max: 300 } } })],
    ['card_p99_ratio', with_({ cards: { p99Ratios: [1.4, 1.1001, 0.8] } })],
    ['card_first_try', with_({ cards: { firstTryShare: 0.99899 } })],
    ['card_after_retries', with_({ cards: { succeededShare: 0.99999 } })],
    ['card_5xx', with_({ cards: { answers5xx: 1 } })],
    ['card_unanswered', with_({ cards: { unanswered: 1 } })],
    ['tax_recovery_ms', with_({ tax: { recoveryMs: 5_001 } })],
    ['zombies', with_({ zombiesMax: 1 })],
    ['release_violations', with_({ releaseViolations: 1 })],
    ['orphaned_connections', with_({ orphanedConnections: 1 })],
    ['permits_out', with_({ permitsOut: 1 })],
    ['audit_faults', with_({ auditFaults: 1 })],
    ['alerts_raised', with_({ alertsRaised: 1 })],
  ])('%s', (name, measured) => {
    const verdict = judge(measured, false);
    expect(brokenIn(measured)).toEqual([name]);
    expect(verdict.verdict).toBe('FAILED');
    expect(exitCodeOf(verdict)).toBe(1);
  });
});

test('what could not be measured does not hold', () => {
  const blind = with_({
    cards: { latencyMs: null, p99Ratios: [] },
    tax: { shedServerMs: null, recoveryMs: null },
    orphanedConnections: null,
    permitsOut: null,
    auditFaults: null,
  });
  expect(brokenIn(blind)).toEqual([
    'shed_server_p99_ms',
    'card_p99_ms',
    'card_p99_ratio',
    'tax_recovery_ms',
    'orphaned_connections',
    'permits_out',
    'audit_faults',
  ]);
});

test('a value that is no number holds nothing', () => {
  expect(brokenIn(with_({ cards: { firstTryShare: Number.NaN } }))).toEqual(['card_first_try']);
});

test('the ratio is the median of the pairs: of an even number the mean of the middle two', () => {
  const ratioOf = (p99Ratios: number[]) =>
    judge(with_({ cards: { p99Ratios } }), false).figures['card_p99_ratio']?.value;
  expect(ratioOf([9, 1, 1.05, 0.9, 1.1])).toBe(1.05);
  expect(ratioOf([1, 1.2])).toBeCloseTo(1.1, 9);
});

test('a generator that lagged voids the run, whether or not its figures hold', () => {
  for (const measured of [sound, with_({ zombiesMax: 3 })]) {
    const verdict = judge({ ...measured, voidReason: 'lag' }, false);
    expect(verdict).toMatchObject({ verdict: 'VOID', voidReason: 'lag' });
    expect(exitCodeOf(verdict)).toBe(2);
  }
});

test('a short run says latency and ratio without judging them, and judges counts, shed time and recovery', () => {
  const slow = with_({ cards: { latencyMs: { p50: 90, p99: 900, p999: 990, max: 999 }, p99Ratios: [3] } });
  expect(judge(slow, true).verdict).toBe('PASSED');
  expect(judge(slow, true).figures['card_p99_ratio']).toMatchObject({ value: 3, holds: false, gates: false });
  const counts = with_({ tax: { recoveryMs: 5_001, shedServerMs: { p50: 1, p99: 6, maxBound: 10 } }, auditFaults: 1 });
  expect(brokenIn(counts, true)).toEqual(['shed_server_p99_ms', 'tax_recovery_ms', 'audit_faults']);
});

test('a short run judges these and no others', () => {
  const judgedNames = Object.entries(judge(sound, true).figures)
    .filter(([, { gates }]) => gates)
    .map(([name]) => name);
  expect(judgedNames).toEqual([
    'shed_server_p99_ms',
    'tax_refused',
    'tax_refused_with_estimate',
    'tax_stray_answers',
    'tax_full_share',
    'card_first_try',
    'card_after_retries',
    'card_5xx',
    'card_unanswered',
    'client_answered',
    'client_failures',
    'tax_recovery_ms',
    'zombies',
    'release_violations',
    'orphaned_connections',
    'permits_out',
    'audit_faults',
    'alerts_raised',
  ]);
});

test('every figure is printed beside its limit', () => {
  const verdict = judge(with_({ zombiesMax: 1 }), true);
  const lines = renderVerdict(verdict).split('\n');
  for (const [name, { limit }] of Object.entries(verdict.figures)) {
    const line = lines.find((each) => each.startsWith(`${name} `)) ?? '';
    expect(line).toMatch(limit === null ? /\d/ : /(at most|below|at least|exactly) \d.* (yes|NO|no \(not judged\))/);
  }
  expect(lines).toContainEqual(expect.stringMatching(/^zombies +1 +exactly 0 +NO$/));
  expect(lines.at(-1)).toBe('FAILED');
});
