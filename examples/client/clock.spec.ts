import { systemClock } from './clock';

describe('systemClock', () => {
  it('sleeps at least as long as asked', async () => {
    const startMs = systemClock.nowMs();
    await systemClock.sleep(20, undefined);
    expect(systemClock.nowMs() - startMs).toBeGreaterThanOrEqual(19);
  });

  it('wakes with the reason of an abort, also of one that came before', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const sleep = systemClock.sleep(60_000, abort.signal);
    abort.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(systemClock.sleep(60_000, abort.signal)).rejects.toBe(reason);
  });
});
