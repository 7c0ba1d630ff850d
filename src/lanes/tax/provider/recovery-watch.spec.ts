import { FakeClock } from '../../../../test/support/fake-clock';
import { ProviderHealth } from './provider-health';
import { RecoveryWatch } from './recovery-watch';

function harness(inUse: number) {
  const clock = new FakeClock();
  const watch = new RecoveryWatch(clock);
  const lags: number[] = [];
  watch.onLag = (lagging) => lags.push(lagging);
  const ends = Array.from({ length: inUse }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const tracked = watch.track(() => promise);
    return async () => {
      resolve();
      await tracked;
    };
  });
  const note = (...outcomes: Parameters<RecoveryWatch['note']>[0][]): void => outcomes.forEach((o) => watch.note(o));
  return { clock, lags, ends, note };
}

const five = ['ok', 'ok', 'ok', 'ok', 'ok'] as const;

it.each([
  [4, []],
  [5, [5]],
  [6, [6]],
])('%i executions that outlast the provider’s recovery by 10 s', (inUse, expected) => {
  const { clock, lags, note } = harness(inUse);
  note('late', ...five);
  clock.advance(9_999);
  expect(lags).toEqual([]);
  clock.advance(1);
  expect(lags).toEqual(expected);
});

it('counts those only that were in use at the fifth success, and are still', async () => {
  const { clock, lags, ends, note } = harness(6);
  note('down', ...five);
  await ends[0]?.();
  await ends[1]?.();
  clock.advance(10_000);
  expect(lags).toEqual([]);
});

it('needs five in a row: a failure in between begins again, a caller that left does not', () => {
  const { clock, lags, note } = harness(5);
  note('ok', 'ok', 'ok', 'ok', 'wrong', 'ok', 'ok', 'ok', 'ok');
  clock.advance(20_000);
  expect(lags).toEqual([]);
  note('aborted', 'refused', 'ok');
  clock.advance(10_000);
  expect(lags).toEqual([5]);
});

it('speaks once of an incident, and again of the next', () => {
  const { clock, lags, note } = harness(5);
  note('late', ...five, ...five);
  clock.advance(60_000);
  expect(lags).toEqual([5]);
  note('late', ...five);
  clock.advance(10_000);
  expect(lags).toEqual([5, 5]);
});

it('the provider is degraded from its third failure in a row, and up with its next answer', () => {
  const health = new ProviderHealth();
  for (const outcome of ['late', 'aborted', 'wrong'] as const) health.note(outcome);
  expect(health.health().status).toBe('up');
  health.note('down');
  expect(health.health()).toMatchObject({ status: 'degraded', detail: expect.stringContaining('down') });
  health.note('refused');
  expect(health.health().status).toBe('up');
});
