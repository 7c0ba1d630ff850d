import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a fact, looking every 10 ms. @throws when it has not come true in time. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 5_000): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`Not true within ${withinMs} ms: ${String(condition)}`);
    await delay(10);
  }
}
