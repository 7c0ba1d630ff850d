import fc from 'fast-check';
import { RetryQueue } from './retry-queue';

describe('RetryQueue', () => {
  it('gives the earliest first, whatever the order of adding', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (dueTimes) => {
        const queue = new RetryQueue<{ dueMs: number }>(10_000);
        for (const dueMs of dueTimes) queue.add({ dueMs });
        const taken: number[] = [];
        for (let item = queue.take(); item !== null; item = queue.take()) taken.push(item.dueMs);
        expect(taken).toEqual([...dueTimes].sort((left, right) => left - right));
      }),
    );
  });

  it('takes n items and refuses the n + 1st', () => {
    const queue = new RetryQueue<{ dueMs: number }>(2);
    expect([queue.add({ dueMs: 1 }), queue.add({ dueMs: 2 }), queue.add({ dueMs: 0 })]).toEqual([true, true, false]);
    expect(queue.nextDueMs).toBe(1);
    expect(queue.clear()).toHaveLength(2);
    expect(queue.nextDueMs).toBeNull();
  });
});
