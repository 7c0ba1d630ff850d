import { hash, randomUUID } from 'node:crypto';
import type { EvaluationTask } from '../../../src/lanes/fraud/fraud';
import { FraudOverflow } from '../../../src/lanes/fraud/overflow/fraud-overflow';
import type { OverflowJob, OverflowResult } from '../../../src/lanes/fraud/overflow/overflow-job';
import { OverflowWatch } from '../../../src/lanes/fraud/overflow/overflow-watch';
import { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { systemClock } from '../../../src/platform/system-clock';
import { publicId } from '../../../src/shared/public-id';
import { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { atEndOfFile } from '../../support/closers';
import { startOwnRedis, testRedis } from '../../support/services';
import { until } from '../platform/until';

const UNAVAILABLE = { code: 'ERR_FRAUD_OVERFLOW_UNAVAILABLE', kind: { status: 503, retryAfterSeconds: 5 } };
let count = 0;

/** An id like those that follow from caller and key. */
function idOf(key: string): string {
  const hex = hash('sha256', key).slice(0, 32);
  return publicId('evl_', hex);
}

function taskOf(key: string, amountMinor = 100): EvaluationTask {
  return {
    id: idOf(key),
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

/** The watch of a process, and what it has told. */
function watchOf({ queue, overflow }: Opened) {
  const looks: { waiting: number | null; oldestAgeMs: number | null }[] = [];
  const watch = new OverflowWatch({
    queue,
    overflow,
    observer: { onLooked: (waiting, oldestAgeMs) => void looks.push({ waiting, oldestAgeMs }) },
    clock: systemClock,
    wallNow: () => Date.now(),
  });
  return { watch, looks };
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
    const task = taskOf(randomUUID());
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
    expect(await overflow.accept(taskOf('b'))).toMatchObject({ id: idOf('b'), status: 'QUEUED' });
    expect(await overflow.find(idOf('d'))).toBeNull();
    const job = await queue.getJob(idOf('a'));
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

  it('is asked for only where it may be: where it was put or seen, and for a declared retry', async () => {
    const one = await openReady();
    const other = await openReady({ name: one.queue.name });
    const task = taskOf('elsewhere');
    await one.overflow.accept(task);
    expect(other.overflow.mayKnow(task.id)).toBe(false);
    expect(await other.overflow.waiting(task, false)).toBeNull();
    expect(await other.overflow.waiting(task, true)).toMatchObject({ status: 'QUEUED' });
    expect(await one.overflow.waiting(taskOf('never-there'), true)).toBeNull();
    await watchOf(other).watch.look();
    expect(await other.overflow.waiting(task, false)).toMatchObject({ status: 'QUEUED' });
  });

  it('is not pushed out of what a process knows by requests that the full overflow refuses', async () => {
    const { overflow } = await openReady({ waitingMax: 2 });
    await overflow.accept(taskOf('first'));
    await overflow.accept(taskOf('second'));
    const refused = taskOf('refused');
    await expect(overflow.accept(refused)).rejects.toMatchObject(UNAVAILABLE);
    expect([overflow.mayKnow(refused.id), overflow.mayKnow(idOf('first'))]).toEqual([false, true]);
  });

  it.each([
    ['its key has the result of another payload', { outcome: 'key_reused' }, 'ERR_IDEMPOTENCY_KEY_REUSED'],
    ['somebody has ended it', null, 'ERR_FRAUD_OVERFLOW_UNAVAILABLE'],
  ])('promises no result later where its job has ended without one: %s', async (_why, result, code) => {
    const opened = await openReady();
    const task = taskOf('ended');
    await opened.overflow.accept(task);
    await finish(opened, task.id, result as OverflowResult);
    await expect(opened.overflow.accept(task)).rejects.toMatchObject({ code });
    expect(await opened.overflow.find(task.id)).toBeNull();
    expect(await opened.overflow.waiting(task, true)).toBeNull();
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

describe('who watches the overflow', () => {
  /** As many jobs as there are ids, accepted so long ago. */
  async function fill({ queue }: Opened, ids: readonly string[], ageMs = 0, delay = 0): Promise<void> {
    const timestamp = Date.now() - ageMs;
    await queue.addBulk(
      ids.map((jobId) => ({ name: 'fraud-evaluation', data: {} as OverflowJob, opts: { jobId, timestamp, delay } })),
    );
  }

  it('sees every id that waits, is delayed or runs, beyond what one answer holds', async () => {
    const opened = await openReady();
    const other = await openReady({ name: opened.queue.name });
    const ids = Array.from({ length: 2_001 }, (_, index) => idOf(`many-${index}`));
    await fill(opened, ids);
    await fill(opened, [idOf('delayed')], 0, 60_000);
    const { Worker } = await import('bullmq');
    const worker = new Worker(opened.queue.name, null, {
      connection: { url: (await testRedis()).url },
      prefix: 'payment-core:test',
    });
    const running = await worker.getNextJob('token');
    const { watch, looks } = watchOf(other);
    await watch.look();
    expect([...ids, idOf('delayed')].filter((id) => !other.overflow.mayKnow(id))).toEqual([]);
    expect(running?.id).toBe(ids[0]);
    // One runs, and is waited for no longer.
    expect(looks.map(({ waiting }) => waiting)).toEqual([2_001]);
    await worker.close();
  });

  it('tells how much waits and for how long, nothing of an empty queue, and that nobody can tell', async () => {
    const own = await startOwnRedis({ durable: false });
    const opened = await open(own.url);
    await opened.queue.waitUntilReady();
    const { watch, looks } = watchOf(opened);
    await watch.look();
    await fill(opened, [idOf('old')], 120_000);
    await fill(opened, [idOf('young')], 1_000);
    await fill(opened, [idOf('delayed')], 60_000, 3_600_000);
    await watch.look();
    await own.kill();
    await until(() => !opened.redis.usable, 5_000);
    await watch.look();
    const [empty, filled, away] = looks;
    expect([empty, away]).toEqual([
      { waiting: 0, oldestAgeMs: 0 },
      { waiting: null, oldestAgeMs: null },
    ]);
    expect(filled?.waiting).toBe(3);
    expect(filled?.oldestAgeMs).toBeGreaterThanOrEqual(120_000);
    expect(filled?.oldestAgeMs).toBeLessThan(180_000);
  }, 30_000);

  it('keeps nobody from starting: without Redis it begins at once, with a frozen one after a second', async () => {
    const own = await startOwnRedis({ durable: false });
    await own.kill();
    const away = watchOf(await open(own.url));
    expect((await timed(away.watch.onApplicationBootstrap())).ms).toBeLessThan(500);
    await away.watch.beforeApplicationShutdown();
    await own.restart();
    own.freeze();
    const frozen = watchOf(await open(own.url));
    expect((await timed(frozen.watch.onApplicationBootstrap())).ms).toBeLessThan(2_000);
    await frozen.watch.beforeApplicationShutdown();
    expect(frozen.looks).toEqual([{ waiting: null, oldestAgeMs: null }]);
    own.thaw();
  }, 30_000);

  it('knows what waits before its process serves, where Redis is there', async () => {
    const before = await openReady();
    await before.overflow.accept(taskOf('before'));
    // Not waited for: connecting is the watch's own affair.
    const after = await open((await testRedis()).url, { name: before.queue.name });
    const { watch } = watchOf(after);
    await watch.onApplicationBootstrap();
    expect(await after.overflow.waiting(taskOf('before'), false)).toMatchObject({ status: 'QUEUED' });
    await watch.beforeApplicationShutdown();
  });
});

describe('the overflow without its Redis', () => {
  it('refuses at once where Redis was never up, and takes evaluations when it comes', async () => {
    const own = await startOwnRedis({ durable: false });
    await own.kill();
    const { redis, overflow, queue, acceptances } = await open(own.url);
    await expect(overflow.accept(taskOf('first'))).rejects.toMatchObject(UNAVAILABLE);
    expect((await timed(overflow.accept(taskOf('first')))).ms).toBeLessThan(20);
    await expect(overflow.find(idOf('first'))).rejects.toMatchObject(UNAVAILABLE);
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
      expect(await overflow.accept(taskOf(key))).toMatchObject({ id: idOf(key), status: 'QUEUED' });
    const ids = (await queue.getJobs(['wait'])).map(({ id }) => id).sort();
    expect(ids).toEqual([idOf('before'), ...keys.map((key) => idOf(key))].sort());
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
    expect((await queue.getJobs(['wait'])).map(({ id }) => id).sort()).toEqual(kept.map(idOf).sort());
  }, 30_000);
});
