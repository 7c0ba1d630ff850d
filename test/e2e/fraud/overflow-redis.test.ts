import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, eventually, expectProblem } from '../../support/http';
import { startOwnRedis, type TestRedis } from '../../support/services';
import { expectQueued, OverflowDriver } from './overflow-driver';

/** As the worker locks its jobs. */
const LOCK_MS = 10_000;
/** 50 ms for the enqueue; the rest is HTTP and a machine that runs other tests beside this one. */
const OVERFLOW_MS_MAX = 250;

function expectUnavailable(answer: Answer): void {
  expectProblem(answer, 503, 'ERR_FRAUD_OVERFLOW_UNAVAILABLE');
  expect(answer.headers.get('Retry-After')).toBe('5');
  expect(answer.elapsedMs).toBeLessThan(OVERFLOW_MS_MAX);
}

describe('the fraud lane and its Redis', () => {
  let redis: TestRedis;
  let driver: OverflowDriver;
  let keys = 0;

  beforeEach(async () => {
    redis = await startOwnRedis({ durable: true });
    driver = await OverflowDriver.open(redis);
  });

  afterEach(async () => {
    redis.thaw();
    if (driver.server.running) await driver.server.kill('SIGKILL');
    await driver.closeQueue();
    await redis.kill();
  });

  const lift = async (held: readonly Promise<Answer>[]): Promise<void> => {
    await driver.setFaults({});
    const answers = (await Promise.all(held)).map(({ status, body }) => ({ status, code: body['code'] }));
    expect(answers).toEqual(held.map(() => ({ status: 200, code: undefined })));
  };
  /** Ten that find room: every one is evaluated at once, whatever Redis does. */
  const expectSynchronousPath = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) {
      const answer = await driver.evaluate(`sync-${(keys += 1)}`);
      expect({ status: answer.status, body: answer.body }).toMatchObject({
        status: 200,
        body: { status: 'COMPLETED' },
      });
      expect(answer.elapsedMs).toBeLessThan(OVERFLOW_MS_MAX);
    }
  };
  const acceptWhenBack = async (key: string): Promise<string> => {
    let last: Answer | null = null;
    await eventually('the overflow takes evaluations again', async () => {
      last = await driver.evaluate(key, { body: { card_token: 'card_demo_usd_0999' } });
      return last.status === 202;
    });
    return expectQueued(last as unknown as Answer);
  };

  it('that was never up: evaluates, refuses what it has no permit for, and works when it comes', async () => {
    await redis.kill();
    await driver.start();
    await expectSynchronousPath();
    const held = await driver.fillLane('never-up');
    for (const turn of [1, 2, 3]) expectUnavailable(await driver.evaluate(`refused-${turn}`));
    // Each outcome once, as what it was.
    expect(await driver.rejections('overflow_failed')).toBe(3);
    expect(await driver.rejections('full')).toBe(0);
    await redis.restart();
    const id = await acceptWhenBack('accepted');
    await lift(held);
    await driver.expectOneResultEach([id]);
    expect((await driver.read(id)).status).toBe(200);
  }, 90_000);

  it('that is killed with evaluations on it: nothing is lost, and its worker goes on by itself', async () => {
    await driver.start();
    const held = await driver.fillLane('killed');
    const ids = [];
    for (let turn = 0; turn < 20; turn += 1) ids.push(await driver.queued(`queued-${turn}`));
    await redis.kill();
    expectUnavailable(await driver.evaluate('while-dead'));
    // Known to be on the overflow, but nobody can tell how it is: the caller tries again, or the worker comes first.
    await lift(held);
    await expectSynchronousPath();
    // The last of the queue, which no worker has begun.
    const early = await driver.evaluate('queued-19', { body: { card_token: 'card_demo_usd_0025' } });
    expect({ status: early.status, id: early.body['id'] }).toEqual({ status: 200, id: ids.at(-1) });
    expect(early.headers.get('Idempotency-Replayed')).toBeNull();
    await redis.restart();
    await driver.expectOneResultEach(ids, 40_000);
    expect(await driver.stored()).toBe(held.length + ids.length + 10);
    await driver.expectQueueDrained();
    // The one that was evaluated at once had its job find that result.
    expect(await driver.metric('fraud_overflow_finished_total{outcome="found"}')).toBeGreaterThanOrEqual(1);
  }, 120_000);

  it('that is frozen: refuses within its bound, and what was added unheard has one result', async () => {
    await driver.start();
    const held = await driver.fillLane('frozen');
    const ids = [];
    for (let turn = 0; turn < 10; turn += 1) ids.push(await driver.queued(`queued-${turn}`));
    redis.freeze();
    const unheard = await Promise.all(Array.from({ length: 10 }, (_, turn) => driver.evaluate(`unheard-${turn}`)));
    unheard.forEach(expectUnavailable);
    expectUnavailable(await driver.evaluate('later'));
    await lift(held);
    await expectSynchronousPath();
    redis.thaw();
    await driver.expectOneResultEach(ids, 40_000);
    // The refused try again under their keys: one result each, whether or not the queue had taken them.
    for (let turn = 0; turn < 10; turn += 1) {
      const card_token = `card_demo_usd_${String(16 + turn).padStart(4, '0')}`;
      await eventually(`unheard-${turn} is answered`, async () => {
        const { status } = await driver.evaluate(`unheard-${turn}`, { body: { card_token } });
        return status === 200;
      });
    }
    await driver.expectQueueDrained();
    expect(await driver.stored()).toBe(held.length + 10 + 10 + 10);
  }, 120_000);

  it('that is frozen for longer than a job is locked: what ran meanwhile is not evaluated twice', async () => {
    await driver.start();
    const held = await driver.fillLane('long-frozen');
    const ids = [];
    for (let turn = 0; turn < 10; turn += 1) ids.push(await driver.queued(`queued-${turn}`));
    await eventually('the worker has begun as many as it may', async () => {
      return (await driver.queue().getJobCountByTypes('active')) === 5;
    });
    redis.freeze();
    await lift(held);
    // The five that had begun are evaluated now; that they are done cannot be told to anybody.
    await eventually('they have their results', async () => (await driver.stored()) >= held.length + 5);
    // The locks' own time, which passes in Redis alone: there is no clock to move.
    await sleep(LOCK_MS + 1_000);
    redis.thaw();
    await driver.expectOneResultEach(ids, 40_000);
    await driver.expectQueueDrained();
    expect(await driver.stored()).toBe(held.length + ids.length);
    const { rows } = await driver.owner.query<{ n: number }>('SELECT count(*)::int AS n FROM attempts');
    expect(rows).toEqual([{ n: held.length + ids.length }]);
  }, 120_000);

  it('that is away while the process ends: it ends in order, in time', async () => {
    await driver.start();
    const held = await driver.fillLane('ending');
    const ids = [];
    for (let turn = 0; turn < 8; turn += 1) ids.push(await driver.queued(`queued-${turn}`));
    await redis.kill();
    const startedMs = performance.now();
    const code = driver.server.terminate();
    await lift(held);
    expect(await code).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
    await redis.restart();
    await driver.start();
    await driver.expectOneResultEach(ids, 40_000);
    await driver.expectQueueDrained();
  }, 120_000);

  it('that is restarted again and again: its worker goes on each time', async () => {
    await driver.start();
    const ids: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const held = await driver.fillLane(`restarted-${round}`);
      for (let turn = 0; turn < 10; turn += 1) ids.push(await acceptWhenBack(`queued-${round}-${turn}`));
      const lifted = lift(held);
      await redis.restart();
      await lifted;
      await driver.expectQueueDrained();
    }
    await driver.expectOneResultEach(ids, 40_000);
  }, 120_000);

  it('that holds 10,000 already takes one less, that one, and not one more', async () => {
    await driver.start();
    const queue = driver.queue();
    // Jobs that no worker takes yet: they wait all the same, as far as the bound goes.
    const jobs = Array.from({ length: 9_999 }, (_, index) => ({
      name: 'fraud-evaluation',
      data: {},
      opts: { jobId: `filler-${index}`, delay: 3_600_000 },
    }));
    for (let at = 0; at < jobs.length; at += 1_000) await queue.addBulk(jobs.slice(at, at + 1_000));
    const held = await driver.fillLane('bound');
    const body = { card_token: 'card_demo_usd_0998' };
    const id = await driver.queued('the-last', { body });
    expect(await queue.getJobCountByTypes('wait', 'delayed', 'active')).toBe(10_000);
    const waiting = await queue.getJobCountByTypes('wait', 'delayed');
    if (waiting < 10_000) await queue.add('fraud-evaluation', {}, { jobId: 'filler-last', delay: 3_600_000 });
    expectUnavailable(await driver.evaluate('one-too-many'));
    expect(expectQueued(await driver.evaluate('the-last', { body }))).toBe(id);
    expect(await driver.rejections('overflow_failed')).toBe(1);
    await lift(held);
    await expectSynchronousPath();
    await driver.expectOneResultEach([id]);
  }, 120_000);

  it('that has no memory left: refuses, evaluates at once where there is room, and goes on when there is some', async () => {
    await driver.start();
    const held = await driver.fillLane('memory');
    const ids = [];
    for (let turn = 0; turn < 5; turn += 1) ids.push(await driver.queued(`queued-${turn}`));
    const client = (await driver.queue().getBackend().client) as unknown as {
      call(...words: string[]): Promise<unknown>;
    };
    await client.call('CONFIG', 'SET', 'maxmemory', '1');
    expectUnavailable(await driver.evaluate('no-memory'));
    await lift(held);
    await expectSynchronousPath();
    await client.call('CONFIG', 'SET', 'maxmemory', '0');
    await driver.expectOneResultEach(ids, 40_000);
    await driver.expectQueueDrained();
  }, 120_000);
});
