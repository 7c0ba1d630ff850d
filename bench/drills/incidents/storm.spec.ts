import { schedule } from '../../load/schedule';
import { burstStages } from './storm';

test('a storm grows from 150/s to 1,800/s in bursts every 50 ms', () => {
  const dueMs = [...schedule(burstStages(20))];
  const inSecond = (second: number): number => dueMs.filter((ms) => Math.floor(ms / 1_000) === second).length;
  expect(inSecond(0)).toBeGreaterThanOrEqual(150);
  expect(inSecond(0)).toBeLessThan(250);
  expect(inSecond(19)).toBeGreaterThan(1_700);
  expect(inSecond(19)).toBeLessThanOrEqual(1_800);
  // Nothing between the bursts, whose beginnings are sums of fractions.
  const sinceBurstMs = dueMs.map((ms) => (ms + 0.001) % 50);
  expect(Math.max(...sinceBurstMs)).toBeLessThan(5.002);
  expect(dueMs.length / 20).toBeCloseTo(975, -1);
});
