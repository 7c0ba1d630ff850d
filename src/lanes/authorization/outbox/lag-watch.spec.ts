import { FakeClock } from '../../../../test/support/fake-clock';
import { LagWatch } from './lag-watch';

function harness() {
  const clock = new FakeClock();
  const said: string[] = [];
  const watch = new LagWatch({
    clock,
    lagMsMax: 60_000,
    alerts: { raise: (alert) => said.push(`raise ${alert}`), clear: (alert) => said.push(`clear ${alert}`) },
  });
  return { clock, said, watch };
}

it('alerts once when the oldest row is older than a minute, and says when that is over', () => {
  const { clock, said, watch } = harness();
  watch.observe(60_000);
  watch.check();
  expect(said).toEqual([]);
  clock.advance(1);
  watch.check();
  watch.check();
  expect(said).toEqual(['raise ALERT_OUTBOX_LAG']);
  watch.observe(10);
  watch.check();
  expect(said).toEqual(['raise ALERT_OUTBOX_LAG', 'clear ALERT_OUTBOX_LAG']);
});

it('goes on counting while nobody can look, since what waited then waits still', () => {
  const { clock, said, watch } = harness();
  watch.observe(1_000);
  clock.advance(59_001);
  watch.check();
  expect(said).toEqual(['raise ALERT_OUTBOX_LAG']);
  expect(watch.lagMs).toBe(60_001);
});

it('is silent where nothing waits', () => {
  const { clock, said, watch } = harness();
  watch.observe(null);
  clock.advance(1_000_000);
  watch.check();
  expect([said, watch.lagMs]).toEqual([[], 0]);
});
