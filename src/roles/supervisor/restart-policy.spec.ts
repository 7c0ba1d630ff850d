import { RestartPolicy } from './restart-policy';

const limits = { restartsMax: 10, windowMs: 600_000, backoffMsMin: 250, backoffMsMax: 60_000, steadyMs: 60_000 };
const most = (): number => 1;

/** Deaths right after each start, until it stays down. */
function waitsUntilDown(policy: RestartPolicy, ranMs = 0): number[] {
  const waits: number[] = [];
  let nowMs = 0;
  for (;;) {
    nowMs += ranMs;
    const waitMs = policy.afterDeath(nowMs, ranMs);
    if (waitMs === null || waits.length > 100) return waits;
    waits.push(waitMs);
    nowMs += waitMs;
  }
}

describe('restarts of a process', () => {
  test('each wait is twice the last, up to the longest; after ten it stays down', () => {
    expect(waitsUntilDown(new RestartPolicy(limits, most))).toEqual([
      250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]);
  });

  test('jitter takes up to half of a wait, never more', () => {
    expect(waitsUntilDown(new RestartPolicy(limits, () => 0)).slice(0, 3)).toEqual([125, 250, 500]);
  });

  test('one that ran for 60 s begins with the shortest wait again, one that ran for less does not', () => {
    const policy = new RestartPolicy(limits, most);
    expect([policy.afterDeath(0, 0), policy.afterDeath(300, 0)]).toEqual([250, 500]);
    expect(policy.afterDeath(60_799, 59_999)).toBe(1_000);
    expect(policy.afterDeath(121_799, 60_000)).toBe(250);
  });

  test('only restarts within the window count', () => {
    const policy = new RestartPolicy({ ...limits, restartsMax: 2 }, most);
    expect(policy.afterDeath(0, 0)).not.toBeNull();
    expect(policy.afterDeath(1_000, 0)).not.toBeNull();
    expect(policy.afterDeath(599_999, 0)).toBeNull();
    expect(policy.afterDeath(600_000, 0)).not.toBeNull();
  });

  test('none is allowed where the limit is 0, and what was is forgotten on demand', () => {
    expect(new RestartPolicy({ ...limits, restartsMax: 0 }).afterDeath(0, 0)).toBeNull();
    const policy = new RestartPolicy({ ...limits, restartsMax: 1 }, most);
    expect([policy.afterDeath(0, 0), policy.afterDeath(1, 0)]).toEqual([250, null]);
    policy.forget();
    expect(policy.afterDeath(2, 0)).toBe(250);
  });
});
