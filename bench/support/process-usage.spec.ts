import { setTimeout as sleep } from 'node:timers/promises';
import { UsageSampler, usageOf } from './process-usage';

/** By CPU time, so that a busy machine makes it last longer and changes nothing else. */
function burn(cpuMs: number): void {
  const start = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(start);
    if ((user + system) / 1_000 >= cpuMs) return;
  }
}

describe('what a process uses', () => {
  test('its CPU time and memory are those of the kernel', () => {
    const usage = usageOf(process.pid);
    burn(300);
    const later = usageOf(process.pid);
    expect((later?.cpuS ?? 0) - (usage?.cpuS ?? 0)).toBeGreaterThan(0.25);
    expect(usage?.rssMiB).toBeGreaterThan(20);
  });

  test('a window has the CPU that was used in it; a process that is not there has none', async () => {
    const sampler = new UsageSampler([
      { name: 'own', pid: () => process.pid, withChildren: false },
      { name: 'nobody', pid: () => null, withChildren: true },
    ]);
    const fromMs = Date.now();
    for (let turn = 0; turn < 4; turn += 1) {
      burn(100);
      await sleep(260);
    }
    const toMs = Date.now();
    await sleep(300);
    sampler.stop();
    const window = sampler.window('own', fromMs, toMs);
    expect(window?.cpuS).toBeGreaterThan(0.3);
    expect(window?.rssMiBMax).toBeGreaterThanOrEqual(window?.rssMiBStart ?? Infinity);
    expect(sampler.window('nobody', fromMs, toMs)).toBeNull();
  });
});
