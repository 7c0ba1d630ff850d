import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'bullmq';
import { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { startOwnRedis, testRedis, type TestRedis } from '../../support/services';
import { until } from './until';

interface Opened {
  redis: ProducerRedis;
  queue: LaneQueue;
}

describe('a lane’s queue', () => {
  const closers: (() => Promise<void> | void)[] = [];
  let count = 0;

  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(url: string, waitingMax = 1_000, name?: string): Promise<Opened> {
    const redis = new ProducerRedis(url);
    const queue = new LaneQueue(name ?? `platform-${process.pid}-${(count += 1)}`, {
      connection: redis,
      prefix: 'payment-core:test',
      waitingMax,
    });
    closers.push(
      () => redis.disconnect(),
      () => queue.close(),
    );
    return { redis, queue };
  }

  async function timed(work: Promise<unknown>): Promise<{ ms: number; outcome: unknown }> {
    const startedMs = performance.now();
    const outcome = await work.then(
      () => 'added',
      (error: unknown) => (error as { code: string }).code,
    );
    return { ms: performance.now() - startedMs, outcome };
  }

  it('adds a job, and refuses one more than may wait', async () => {
    const { queue } = await open((await testRedis()).url, 3);
    await queue.waitUntilReady();
    for (const turn of [0, 1, 2]) expect((await queue.enqueue('job', { turn })).id).toBeDefined();
    await expect(queue.enqueue('job', {})).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect(await queue.getJobCountByTypes('wait')).toBe(3);
    await queue.drain();
    await expect(queue.enqueue('job', {})).resolves.toBeDefined();
  });

  it('counts delayed jobs as waiting', async () => {
    const { queue } = await open((await testRedis()).url, 1);
    await queue.waitUntilReady();
    await queue.enqueue('job', {}, { delay: 60_000 });
    await expect(queue.enqueue('job', {})).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
  });

  it('is exact at the bound when many add at once', async () => {
    const { queue } = await open((await testRedis()).url, 10);
    await queue.waitUntilReady();
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => timed(queue.enqueue('job', {}))));
    expect(outcomes.filter(({ outcome }) => outcome === 'added')).toHaveLength(10);
    expect(await queue.getJobCountByTypes('wait')).toBe(10);
  });

  it('adds a job once under an id, and finds the first one whatever a repeat says', async () => {
    const { queue } = await open((await testRedis()).url, 2);
    await queue.waitUntilReady();
    const first = await queue.enqueueOnce('job', { turn: 1 }, { jobId: 'same' });
    expect(first).toMatchObject({ added: true, job: { id: 'same', data: { turn: 1 } } });
    await delay(2);
    const repeat = await queue.enqueueOnce('job', { turn: 2 }, { jobId: 'same' });
    expect(repeat).toMatchObject({ added: false, job: { id: 'same', data: { turn: 1 } } });
    await queue.enqueueOnce('job', {}, { jobId: 'other' });
    await expect(queue.enqueueOnce('job', {}, { jobId: 'third' })).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect(await queue.enqueueOnce('job', {}, { jobId: 'same' })).toMatchObject({ added: false });
    expect(await queue.getJobCountByTypes('wait')).toBe(2);
    expect(await queue.find('same')).toMatchObject({ data: { turn: 1 } });
    expect(await queue.find('none')).toBeNull();
  });

  it('keeps its bound over all processes together, whatever they add at the same moment, one by one and twice', async () => {
    const { url } = await testRedis();
    const waitingMax = 20;
    const first = await open(url, waitingMax);
    const queues = [first.queue];
    for (let others = 0; others < 3; others += 1) queues.push((await open(url, waitingMax, first.queue.name)).queue);
    await Promise.all(queues.map((queue) => queue.waitUntilReady()));
    // Every id is sent by two of them.
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) => index).flatMap((index) =>
        [0, 1].map((twin) => {
          const queue = queues[(index + twin) % queues.length] ?? first.queue;
          return timed(queue.enqueueOnce('job', {}, { jobId: `id-${index}` }));
        }),
      ),
    );
    expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['added', 'ERR_QUEUE_FULL']));
    const waiting = await first.queue.getJobCountByTypes('wait');
    expect(waiting).toBeLessThanOrEqual(waitingMax);
    // What is left is given out one by one, to the last.
    for (let index = 30; index < 30 + waitingMax - waiting; index += 1) {
      await queues[index % queues.length]?.enqueueOnce('job', {}, { jobId: `id-${index}` });
    }
    for (const queue of queues) {
      const added = queue.enqueueOnce('job', {}, { jobId: 'one-more' });
      await expect(added).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    }
    expect(await first.queue.getJobCountByTypes('wait')).toBe(waitingMax);
    // No seat is left behind.
    expect(await first.redis.zcard(first.queue.toKey('payment-core-seats'))).toBe(0);
  });

  it('counts what is delayed against that bound, and has room again when a job has gone', async () => {
    const { queue } = await open((await testRedis()).url, 2);
    await queue.waitUntilReady();
    await queue.enqueueOnce('job', {}, { jobId: 'later', delay: 60_000 });
    await queue.enqueueOnce('job', {}, { jobId: 'waits' });
    const third = () => queue.enqueueOnce('job', {}, { jobId: 'third' });
    await expect(third()).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    await (await queue.find('later'))?.remove();
    expect(await third()).toMatchObject({ added: true });
  });

  it('answers at once where Redis was never up, and adds nothing later', async () => {
    const redisServer = await startOwnRedis({ durable: false });
    await redisServer.kill();
    const { redis, queue } = await open(redisServer.url);
    expect(await timed(queue.enqueue('ghost', {}))).toMatchObject({ outcome: 'ERR_QUEUE_UNAVAILABLE' });
    expect((await timed(queue.enqueue('ghost', {}))).ms).toBeLessThan(20);
    expect(await redis.health()).toMatchObject({ status: 'degraded' });
    await redisServer.restart();
    await until(() => redis.usable, 10_000);
    await queue.enqueue('real', {});
    expect((await queue.getJobs(['wait'])).map((job) => job.name)).toEqual(['real']);
    expect(await redis.health()).toMatchObject({ status: 'up' });
  });

  it('answers at once when Redis is killed, and works again when it is back', async () => {
    const redisServer = await startOwnRedis({ durable: true });
    const { redis, queue } = await open(redisServer.url);
    await queue.waitUntilReady();
    await queue.enqueue('before', {});
    await redisServer.kill();
    const refused = await Promise.all(Array.from({ length: 50 }, () => timed(queue.enqueue('lost', {}))));
    for (const { ms, outcome } of refused) {
      expect(outcome).toBe('ERR_QUEUE_UNAVAILABLE');
      expect(ms).toBeLessThan(100);
    }
    await redisServer.restart();
    await until(() => redis.usable, 10_000);
    await queue.enqueue('after', {});
    expect((await queue.getJobs(['wait'])).map((job) => job.name)).not.toContain('lost');
  });

  it('answers within its limit when Redis freezes, and cuts the silent connection', async () => {
    const redisServer: TestRedis = await startOwnRedis({ durable: false });
    const { redis, queue } = await open(redisServer.url);
    await queue.waitUntilReady();
    await queue.enqueue('before', {});
    redisServer.freeze();
    const first = await timed(queue.enqueue('frozen', {}, { jobId: 'frozen-1' }));
    expect(first.outcome).toBe('ERR_QUEUE_UNAVAILABLE');
    expect(first.ms).toBeLessThan(120);
    expect(await redis.health()).toMatchObject({ status: 'degraded' });
    await until(() => !redis.usable, 3_000);
    const later = await timed(queue.enqueue('frozen', {}));
    expect(later).toMatchObject({ outcome: 'ERR_QUEUE_UNAVAILABLE' });
    expect(later.ms).toBeLessThan(20);
    redisServer.thaw();
    await until(() => redis.usable, 10_000);
    await until(async () => (await timed(queue.enqueue('thawed', {}, { jobId: 'frozen-1' }))).outcome === 'added');
  });

  it('closes in bounded time whatever Redis does', async () => {
    const redisServer = await startOwnRedis({ durable: false });
    const { redis, queue } = await open(redisServer.url);
    await queue.waitUntilReady();
    redisServer.freeze();
    const startedMs = performance.now();
    await queue.close();
    redis.disconnect();
    expect(performance.now() - startedMs).toBeLessThan(1_500);
    redisServer.thaw();
  });

  it('has its jobs run by a worker whose connection waits for Redis', async () => {
    const redisServer = await startOwnRedis({ durable: false });
    const { redis, queue } = await open(redisServer.url);
    await queue.waitUntilReady();
    const seen: string[] = [];
    const worker = new Worker(queue.name, async (job) => void seen.push(job.name), {
      connection: redis.workerOptions as never,
      prefix: 'payment-core:test',
    });
    worker.on('error', () => undefined);
    closers.push(() => worker.close(true));
    await queue.enqueue('first', {});
    await until(() => seen.includes('first'));
    await redisServer.kill();
    await redisServer.restart();
    await until(() => redis.usable, 10_000);
    await queue.enqueue('second', {});
    await until(() => seen.includes('second'), 15_000);
  });
});
