import { FakeClock } from '../../../../test/support/fake-clock';
import { ALERT_AHEAD_DAYS, CertificateWatch } from './certificate-watch';
import { certifiedFiles, EXPIRES_AT } from './testing/certified';
import { verifyCompensation } from './verify-compensation';

const DAY_MS = 24 * 60 * 60 * 1_000;
const expiresMs = Date.parse(EXPIRES_AT);

function watchAt(nowMs: number, verification = verifyCompensation(certifiedFiles())) {
  const raised: string[] = [];
  const clock = new FakeClock();
  const watch = new CertificateWatch(verification, {
    clock,
    alerts: { raise: (alert, detail) => void raised.push(`${alert}: ${detail}`) },
    wallNowMs: () => nowMs + clock.now(),
  });
  return { watch, raised, clock };
}

describe('the watch over the certificate', () => {
  it.each([
    ['a millisecond before the fourteen days', expiresMs - ALERT_AHEAD_DAYS * DAY_MS - 1, 0, 'up'],
    ['as the fourteen days begin', expiresMs - ALERT_AHEAD_DAYS * DAY_MS, 1, 'up'],
    ['a millisecond before it expires', expiresMs - 1, 1, 'up'],
    ['as it expires', expiresMs, 1, 'degraded'],
  ])('%s', (_name, nowMs, alerts, status) => {
    const { watch, raised } = watchAt(nowMs);
    watch.onApplicationBootstrap();
    expect(raised).toHaveLength(alerts);
    expect(watch.health()).toMatchObject({ name: 'tax_compensation', status });
  });

  it('looks again every day, until it is told to stop', () => {
    const { watch, raised, clock } = watchAt(expiresMs - (ALERT_AHEAD_DAYS + 1) * DAY_MS - 1);
    watch.onApplicationBootstrap();
    clock.advance(DAY_MS);
    expect(raised).toHaveLength(0);
    clock.advance(DAY_MS);
    expect(raised).toEqual([
      expect.stringMatching(/^ALERT_TAX_COMPENSATION: The certificate tcc_\S+ expires at 2027-07-01/),
    ]);
    watch.beforeApplicationShutdown();
    clock.advance(5 * DAY_MS);
    expect(raised).toHaveLength(1);
  });

  it('tells of a table that was rejected, where the process serves without it', () => {
    const { watch, raised } = watchAt(0, verifyCompensation({ table: null, certificate: null }));
    watch.onApplicationBootstrap();
    expect(raised).toEqual([expect.stringMatching(/ERR_UNTESTED_COMPENSATION_REJECTED/)]);
    expect(watch.health()).toMatchObject({ status: 'degraded' });
  });
});
