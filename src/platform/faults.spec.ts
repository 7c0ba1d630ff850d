import { FaultSwitch, noFaults } from './faults';

describe('a lane’s fault switch', () => {
  it('has nothing to wait for without faults', () => {
    const faults = new FaultSwitch();
    expect(faults.beforeWork()).toBeNull();
    expect(faults.current()).toBe(noFaults);
  });

  it('replaces the whole: what is left out returns to its default', () => {
    const faults = new FaultSwitch();
    faults.set({ latencyMs: 5, database: 'stalled' });
    faults.set({ latencyMs: 7 });
    expect(faults.current()).toEqual({ latencyMs: 7, hang: false, database: 'ok' });
    faults.set({});
    expect(faults.beforeWork()).toBeNull();
  });

  it('holds executions until the hang is lifted, those that came before another change included', async () => {
    const faults = new FaultSwitch();
    faults.set({ hang: true });
    let ended = 0;
    const waiting = [faults.beforeWork(), faults.beforeWork()].map(async (wait) => {
      await wait;
      ended += 1;
    });
    faults.set({ hang: true, latencyMs: 10 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(0);
    faults.set({});
    await Promise.all(waiting);
    expect(ended).toBe(2);
  });

  it('adds latency to each execution', async () => {
    const faults = new FaultSwitch();
    faults.set({ latencyMs: 20 });
    const startedMs = performance.now();
    await faults.beforeWork();
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(19);
  });
});
