import { randomUUID } from 'node:crypto';
import type { EvaluationTask } from '../../../src/lanes/fraud/fraud';
import { FraudOverflow } from '../../../src/lanes/fraud/overflow/fraud-overflow';
import type { OverflowJob, OverflowResult } from '../../../src/lanes/fraud/overflow/overflow-job';
import { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { atEndOfFile } from '../../support/closers';
import { startOwnRedis, testRedis } from '../../support/services';
import { until } from '../platform/until';

const UNAVAILABLE = { code: 'ERR_FRAUD_OVERFLOW_UNAVAILABLE', kind: { status: 503, retryAfterSeconds: 5 } };
let count = 0;

function taskOf(key: string, amountMinor = 100): EvaluationTask {
  return {
    id: `evl_${key}`,
    caller: 'checkout',
    payloadHash: Buffer.alloc(32, amountMinor % 251),
    request: {
      merchantId: 'mer_demo_0001',
      cardFingerprint: 'ab'.repeat(32),
      amountMinor,
      currency: 'USD',
      country: 'US',
      occurredAt: new Date('2026-11-30T10:00:00.123Z'),
    },
  };
}

interface Opened {
  readonly redis: ProducerRedis;
  readonly queue: LaneQueue<OverflowJob, OverflowResult>;
  readonly overflow: FraudOverflow;
  /** What each request was counted as. */
  readonly acceptances: string[];
}

async function open(url: string, options: { waitingMax?: number; name?: string } = {}): Promise<Opened> {
  const redis = new ProducerRedis(url);
  const name = options.name ?? `overflow-${process.pid}-${(count += 1)}`;
  const queue = new LaneQueue<OverflowJob, OverflowResult>(name, {
    connection: redis,
    prefix: 'payment-core:test',
    waitingMax: options.waitingMax ?? 10_000,
  });
  atEndOfFile(async () => {
    await queue.close();
    redis.disconnect();
  });
  const acceptances: string[] = [];
  const overflow = new FraudOverflow({
    queue,
    observer: { onAccepted: (acceptance) => acceptances.push(acceptance) },
    now: () => performance.now(),
  });
  return { redis, queue, overflow, acceptances };
}

async function openReady(options: { waitingMax?: number; name?: string } = {}): Promise<Opened> {
  const opened = await open((await testRedis()).url, options);
  await opened.queue.waitUntilReady();
  return opened;
}

async function timed(work: Promise<unknown>): Promise<{ ms: number; outcome: unknown }> {
  const startedMs = performance.now();
  const outcome = await work.then(
    () => 'accepted',
    (error: unknown) => (error as { code: string }).code,
  );
  return { ms: performance.now() - startedMs, outcome };
}

/** As a worker ends a job. */
async function finish({ queue }: Opened, id: string, result: OverflowResult): Promise<void> {
  const { Worker } = await import('bullmq');
  const worker = new Worker(queue.name, null, {
    connection: { url: (await testRedis()).url },
    prefix: 'payment-core:test',
  });
  for (;;) {
    const job = await worker.getNextJob('token');
    if (job === undefined) throw new Error(`No job ${id}`);
    await job.moveToCompleted(result, 'token', false);
    if (job.id === id) break;
  }
  await worker.close();
}

describe('an evaluation on the overflow', () => {
  it('is one job, however often it is sent, from one process or two', async () => {
    const one = await openReady();
    const other = await openReady({ name: one.queue.name });
    const task = taskOf(randomUUID().replaceAll('-', ''));
    const queued = { id: task.id, status: 'QUEUED', caller: 'checkout', merchantId: 'mer_demo_0001' };
    const answers = await Promise.all([one, one, other, other, one].map(({ overflow }) => overflow.accept(task)));
    expect(answers).toEqual(Array.from({ length: 5 }, () => queued));
    expect(await one.queue.getJobCountByTypes('wait')).toBe(1);
    expect(await one.overflow.find(task.id)).toEqual(queued);
    expect(await other.overflow.find(task.id)).toEqual(queued);
  });

  it('is 422 under another payload, also where both come at the same moment', async () => {
    const { queue, overflow } = await openReady();
    await overflow.accept(taskOf('reused', 1));
    await expect(overflow.accept(taskOf('reused', 2))).rejects.toMatchObject({ code: 'ERR_IDEMPOTENCY_KEY_REUSED' });
    await expect(overflow.waiting(taskOf('reused', 2), false)).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    });
    const race = await Promise.allSettled([1, 2, 3, 4].map((amount) => overflow.accept(taskOf('raced', amount))));
    expect(race.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await queue.getJobCountByTypes('wait')).toBe(2);
  });

  it('is readable in the queue, with no card token and no plain hash of the payload', async () => {
    const { queue, overflow } = await openReady();
    const task = taskOf('readable');
    await overflow.accept(task);
    const job = await queue.getJob(task.id);
    expect(job?.name).toBe('fraud-evaluation');
    expect(job?.data).toEqual({
      caller: 'checkout',
      payload_hash: task.payloadHash.toString('hex'),
      merchant_id: 'mer_demo_0001',
      card_fingerprint: 'ab'.repeat(32),
      amount_minor: 100,
      currency: 'USD',
      country: 'US',
      occurred_at: '2026-11-30T10:00:00.123Z',
    });
  });

  it('is accepted up to the bound, refused beyond it, and found at the bound', async () => {
    const { queue, overflow, acceptances } = await openReady({ waitingMax: 3 });
    for (const key of ['a', 'b', 'c']) await overflow.accept(taskOf(key));
    await expect(overflow.accept(taskOf('d'))).rejects.toMatchObject(UNAVAILABLE);
    expect(await overflow.accept(taskOf('b'))).toMatchObject({ id: 'evl_b', status: 'QUEUED' });
    expect(await overflow.find('evl_d')).toBeNull();
    const job = await queue.getJob('evl_a');
    await job?.remove();
    await overflow.accept(taskOf('d'));
    await expect(overflow.accept(taskOf('e'))).rejects.toMatchObject(UNAVAILABLE);
    expect(acceptances.filter((acceptance) => acceptance === 'full')).toHaveLength(2);
    expect(await queue.getJobCountByTypes('wait')).toBe(3);
  });

  it('is told of with its result when it is done, and no longer waits', async () => {
    const opened = await openReady();
    const { overflow } = opened;
    const task = taskOf('done');
    await overflow.accept(task);
    expect(await overflow.waiting(task, false)).toMatchObject({ status: 'QUEUED' });
    const reasons = [{ rule: 'new_card', points: 20, text: 'A new card', facts: { days: 0 } }];
    await finish(opened, task.id, { outcome: 'evaluated', score: 20, decision: 'APPROVE', reasons });
    const completed = { id: task.id, status: 'COMPLETED', score: 20, decision: 'APPROVE', reasons };
    expect(await overflow.accept(task)).toMatchObject(completed);
    expect(await overflow.find(task.id)).toMatchObject(completed);
    expect(await overflow.waiting(task, true)).toBeNull();
    await expect(overflow.accept(taskOf('done', 7))).rejects.toMatchObject({ code: 'ERR_IDEMPOTENCY_KEY_REUSED' });
  });

  it('is asked for only where it may be: by its own process, or for a declared retry', async () => {
    const one = await openReady();
    const other = await openReady({ name: one.queue.name });
    const task = taskOf('elsewhere');
    await one.overflow.accept(task);
    expect(other.overflow.mayKnow(task.id)).toBe(false);
    expect(await other.overflow.waiting(task, false)).toBeNull();
    expect(await other.overflow.waiting(task, true)).toMatchObject({ status: 'QUEUED' });
    expect(await one.overflow.waiting(taskOf('never-there'), true)).toBeNull();
  });

  it.each(['meta', 'events', 'evl_', 'evl_a:lock', `evl_${'a'.repeat(65)}`, ''])(
    'is not found under what is no id of one: %s',
    async (id) => {
      const { overflow } = await openReady();
      await overflow.accept(taskOf('a'));
      expect(await overflow.find(id)).toBeNull();
    },
  );
});

describe('the overflow without its Redis', () => {
  it('refuses at once where Redis was never up, and takes evaluations when it comes', async () => {
    const own = await startOwnRedis({ durable: false });
    await own.kill();
    const { redis, overflow, queue, acceptances } = await open(own.url);
    await expect(overflow.accept(taskOf('first'))).rejects.toMatchObject(UNAVAILABLE);
    expect((await timed(overflow.accept(taskOf('first')))).ms).toBeLessThan(20);
    await expect(overflow.find('evl_first')).rejects.toMatchObject(UNAVAILABLE);
    expect(await overflow.waiting(taskOf('first'), true)).toBeNull();
    await own.restart();
    await until(() => redis.usable, 10_000);
    expect(await queue.getJobCountByTypes('wait')).toBe(0);
    await overflow.accept(taskOf('first'));
    expect(acceptances).toEqual(['unavailable', 'unavailable', 'added']);
  }, 30_000);

  it('answers within 50 ms of a freeze, and a retry finds the job of the first try, if there is one', async () => {
    const own = await startOwnRedis({ durable: false });
    const { redis, overflow, queue } = await open(own.url);
    await queue.waitUntilReady();
    await overflow.accept(taskOf('before'));
    own.freeze();
    const keys = Array.from({ length: 20 }, (_, index) => `ghost${index}`);
    const tries = await Promise.all(keys.map((key) => timed(overflow.accept(taskOf(key)))));
    for (const { ms, outcome } of tries) {
      expect(outcome).toBe('ERR_FRAUD_OVERFLOW_UNAVAILABLE');
      expect(ms).toBeLessThan(100);
    }
    expect((await timed(overflow.accept(taskOf('later')))).ms).toBeLessThan(20);
    // Requests with a permit do not wait for it either, beyond the first of them.
    expect(await overflow.waiting(taskOf('before'), false)).toBeNull();
    own.thaw();
    await until(() => redis.usable, 10_000);
    for (const key of keys)
      expect(await overflow.accept(taskOf(key))).toMatchObject({ id: `evl_${key}`, status: 'QUEUED' });
    const ids = (await queue.getJobs(['wait'])).map(({ id }) => id).sort();
    expect(ids).toEqual(['evl_before', ...keys.map((key) => `evl_${key}`)].sort());
  }, 30_000);

  it('keeps what it has accepted over a SIGKILL of Redis', async () => {
    const own = await startOwnRedis({ durable: true });
    const { redis, overflow, queue } = await open(own.url);
    await queue.waitUntilReady();
    const kept = ['a', 'b', 'c'];
    for (const key of kept) await overflow.accept(taskOf(key));
    await own.kill();
    const refused = await Promise.all(Array.from({ length: 20 }, () => timed(overflow.accept(taskOf('lost')))));
    for (const { ms, outcome } of refused) {
      expect(outcome).toBe('ERR_FRAUD_OVERFLOW_UNAVAILABLE');
      expect(ms).toBeLessThan(100);
    }
    await own.restart();
    await until(() => redis.usable, 10_000);
    expect((await queue.getJobs(['wait'])).map(({ id }) => id).sort()).toEqual(kept.map((key) => `evl_${key}`));
  }, 30_000);
});
