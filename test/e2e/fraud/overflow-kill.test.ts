import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/http';
import { startOwnRedis } from '../../support/services';
import { OverflowDriver } from './overflow-driver';

/** Enough to keep the lane full: some are answered at once, most of them "later". */
const CALLERS = 12;

interface Accepted {
  /** Ids of everything that was answered 200 or 202. */
  readonly ids: Set<string>;
  later: number;
  /** Sent, and never answered: either fate is right. */
  unknown: number;
}

async function underLoad(driver: OverflowDriver, accepted: Accepted): Promise<void> {
  const caller = async (): Promise<void> => {
    for (;;) {
      try {
        const { status, body } = await driver.evaluate(randomUUID());
        if (status !== 200 && status !== 202) continue;
        accepted.ids.add(String(body['id']));
        if (status === 202) accepted.later += 1;
      } catch {
        accepted.unknown += 1;
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

it('SIGKILL at any moment: everything that was accepted ends with exactly one result', async () => {
  const driver = await OverflowDriver.open(await startOwnRedis({ durable: true }));
  const accepted: Accepted = { ids: new Set(), later: 0, unknown: 0 };
  for (let round = 0; round < 5; round += 1) {
    await driver.start();
    // Slow enough for the lane to be full, and for jobs to be under way when the process dies.
    await driver.setFaults({ latency_ms: 20 });
    const load = underLoad(driver, accepted);
    const enough = accepted.later + 40 + 13 * round;
    await eventually('the overflow is used', () => Promise.resolve(accepted.later >= enough), 20_000);
    await sleep(5 * round);
    await driver.server.kill('SIGKILL');
    await load;
  }
  await driver.start();
  await driver.expectQueueDrained(60_000);
  await driver.expectOneResultEach([...accepted.ids]);
  const stored = await driver.stored();
  expect(stored).toBeGreaterThanOrEqual(accepted.ids.size);
  expect(stored).toBeLessThanOrEqual(accepted.ids.size + accepted.unknown);
  // The history of the cards, which an evaluation adds to, has each of them once as well.
  const { rows } = await driver.owner.query<{ n: number }>('SELECT count(*)::int AS n FROM attempts');
  expect(rows).toEqual([{ n: stored }]);
  expect(accepted.later).toBeGreaterThan(200);
  expect(await driver.server.terminate()).toBe(0);
}, 240_000);
