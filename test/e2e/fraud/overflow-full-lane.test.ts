import { type Answer, eventually, expectProblem } from '../../support/http';
import { startOwnRedis } from '../../support/services';
import { expectQueued, OverflowDriver, PERMITS, QUEUE } from './overflow-driver';

describe('the fraud lane, filled from outside', () => {
  let driver: OverflowDriver;

  beforeAll(async () => {
    driver = await OverflowDriver.open(await startOwnRedis({ durable: false }));
    await driver.start();
  });

  // A job that is still to come would take one of the permits that the next test counts on.
  afterEach(() => driver.expectQueueDrained());

  // The role's connections are limited over all processes, whatever database they use.
  afterAll(() => driver.server.kill('SIGKILL'));

  const release = async (held: readonly Promise<Answer>[]): Promise<void> => {
    await driver.setFaults({});
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    await eventually('all permits are home', async () => (await driver.bulkhead()).in_use === 0);
  };

  it('answers the one beyond permits and queue "later", with nothing done in the database, and keeps its word', async () => {
    const storedBefore = await driver.stored();
    const held = await driver.fillLane('first');
    const before = await driver.rejections('full');
    const id = expectQueued(await driver.evaluate('later-1'));
    expect(await driver.stored()).toBe(storedBefore);
    expect(await driver.rejections('full')).toBe(before + 1);
    expect(await driver.rejections('overflow_failed')).toBe(0);
    await release(held);
    await driver.expectOneResultEach([id]);
    // The key now stands for the result.
    const again = await driver.evaluate('later-1', { body: { card_token: 'card_demo_usd_0006' } });
    expect({ status: again.status, id: again.body['id'] }).toEqual({ status: 200, id });
    expect(again.headers.get('Idempotency-Replayed')).toBe('true');
    expect(await driver.stored()).toBe(storedBefore + held.length + 1);
  });

  it('answers a key on the overflow 202 again, another payload 422, and has one job for it', async () => {
    const held = await driver.fillLane('second');
    const body = { card_token: 'card_demo_usd_0900' };
    const id = expectQueued(await driver.evaluate('same', { body }));
    for (const turn of [1, 2, 3]) {
      expect(expectQueued(await driver.evaluate('same', { body, headers: { 'Retry-Attempt': String(turn) } }))).toBe(
        id,
      );
    }
    const other = await driver.evaluate('same', { body: { ...body, amount_minor: 1_251 } });
    expectProblem(other, 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    // The same key of another caller is another key.
    const stranger = await driver.identity.bearer({ subject: 'stranger' });
    expect(expectQueued(await driver.evaluate('same', { body, bearer: stranger }))).not.toBe(id);
    const queue = driver.queue();
    const ids = (await queue.getJobs(['wait', 'delayed', 'active'])).map((job) => job.id);
    expect(ids.filter((each) => each === id)).toHaveLength(1);
    await release(held);
    await driver.expectOneResultEach([id]);
  });

  it('tells its caller of what waits while it is full, and nobody else; the database knows nothing of it', async () => {
    const held = await driver.fillLane('third');
    const id = expectQueued(await driver.evaluate('asked-for'));
    const read = await driver.read(id);
    expect({ status: read.status, body: read.body }).toEqual({
      status: 200,
      body: { id, status: 'QUEUED', score: null, decision: 'REVIEW', reasons: [] },
    });
    const stranger = await driver.identity.bearer({ subject: 'stranger' });
    expectProblem(await driver.read(id, stranger), 503, 'ERR_FRAUD_OVERFLOW_UNAVAILABLE');
    await release(held);
    await driver.expectOneResultEach([id]);
    expectProblem(await driver.read(id, stranger), 404, 'ERR_NOT_FOUND');
    const elsewhere = await driver.identity.bearer({ merchants: ['mer_demo_0002'] });
    expectProblem(await driver.read(id, elsewhere), 404, 'ERR_NOT_FOUND');
  });

  it('answers a key that waits 202 also when the lane has room again, and reads it; 404 for others', async () => {
    // Paused by an operator: the job stays where it is, whatever room there is.
    const queue = driver.queue();
    await queue.pause();
    const held = await driver.fillLane('fourth');
    const body = { card_token: 'card_demo_usd_0901' };
    const id = expectQueued(await driver.evaluate('waits', { body }));
    await release(held);
    const stored = await driver.stored();
    expect(expectQueued(await driver.evaluate('waits', { body }))).toBe(id);
    expectProblem(
      await driver.evaluate('waits', { body: { ...body, amount_minor: 1 } }),
      422,
      'ERR_IDEMPOTENCY_KEY_REUSED',
    );
    expect((await driver.read(id)).body).toMatchObject({ id, status: 'QUEUED' });
    const stranger = await driver.identity.bearer({ subject: 'stranger' });
    expectProblem(await driver.read(id, stranger), 404, 'ERR_NOT_FOUND');
    expect(await driver.stored()).toBe(stored);
    await queue.resume();
    await driver.expectOneResultEach([id]);
    expect(await driver.stored()).toBe(stored + 1);
  });

  it('has no card data in the queue, and a result that can be read there', async () => {
    const held = await driver.fillLane('fifth');
    const id = expectQueued(await driver.evaluate('readable', { body: { card_token: 'card_demo_usd_0902' } }));
    const queue = driver.queue();
    const job = await queue.getJob(id);
    expect(job?.name).toBe('fraud-evaluation');
    expect(JSON.stringify(job)).not.toContain('card_demo');
    expect(job?.data).toMatchObject({ caller: 'checkout', merchant_id: 'mer_demo_0001', currency: 'USD' });
    await release(held);
    await driver.expectOneResultEach([id]);
    await eventually('the job is done', async () => (await (await queue.getJob(id))?.getState()) === 'completed');
    const { body } = await driver.read(id);
    expect((await queue.getJob(id))?.returnvalue).toMatchObject({
      outcome: 'evaluated',
      score: body['score'],
      decision: body['decision'],
    });
    expect(driver.server.lines.filter((line) => line.includes('card_demo_usd'))).toEqual([]);
  });

  it('leaves the permits above half of them to callers', async () => {
    // Two of four are in use; a worker's own would be the third.
    await driver.setFaults({ hang: true });
    const held = [driver.evaluate('half-0'), driver.evaluate('half-1')];
    await eventually('half are in use', async () => (await driver.bulkhead()).in_use === 2);
    const stored = await driver.stored();
    const queue = driver.queue();
    const request = { merchant_id: 'mer_demo_0001', currency: 'USD', country: 'US', amount_minor: 5 };
    const hex = 'ab'.repeat(32);
    const hashes = { card_fingerprint: hex, payload_hash: hex, occurred_at: new Date().toISOString() };
    const id = `evl_${'0'.repeat(26)}`;
    await queue.add('fraud-evaluation', { caller: 'checkout', ...request, ...hashes }, { jobId: id });
    const refusals = 'bulkhead_background_refusal_total{bulkhead="bulkhead_fraud_eval"}';
    const before = await driver.metric(refusals);
    await eventually('the worker has asked in vain', async () => (await driver.metric(refusals)) >= before + 5);
    expect(await driver.metric('bulkhead_background_active{bulkhead="bulkhead_fraud_eval"}')).toBe(0);
    expect(await driver.stored()).toBe(stored);
    await release(held);
    await driver.expectOneResultEach([id]);
  });

  it('closes as REVIEW what has waited longer than 15 minutes, and tells somebody', async () => {
    const queue = driver.queue();
    await queue.pause();
    const held = await driver.fillLane('aged');
    const ids = [expectQueued(await driver.evaluate('old')), expectQueued(await driver.evaluate('young'))];
    const [old = '', young = ''] = ids;
    const job = await queue.getJob(old);
    // As if it had been accepted 15 minutes and a second ago.
    const { opts, data } = job ?? { opts: {}, data: null };
    await job?.remove();
    await queue.add('fraud-evaluation', data, { ...opts, jobId: old, timestamp: Date.now() - 901_000 });
    await release(held);
    await queue.resume();
    await driver.expectOneResultEach(ids);
    expect((await driver.read(old)).body).toMatchObject({
      status: 'COMPLETED',
      decision: 'REVIEW',
      reasons: [{ rule: 'overflow_expired', points: 0, text: expect.stringMatching(/./) }],
    });
    expect(JSON.stringify((await driver.read(young)).body)).not.toContain('overflow_expired');
    await driver.expectQueueDrained();
    expect(await driver.metric('fraud_overflow_finished_total{outcome="expired"}')).toBe(1);
    expect(await driver.metric('alerts_total{alert="ALERT_FRAUD_OVERFLOW_EXPIRED"}')).toBe(1);
    const told = driver.server.records.filter(({ alert }) => alert === 'ALERT_FRAUD_OVERFLOW_EXPIRED');
    expect(told.filter(({ cleared }) => cleared !== true)).toHaveLength(1);
  });

  it('ends in order while a job waits for a permit, and the next process takes it at once', async () => {
    const held = await driver.fillLane('sixth');
    const ids = [];
    for (const turn of [0, 1, 2, 3, 4, 5, 6]) ids.push(expectQueued(await driver.evaluate(`ended-${turn}`)));
    const code = driver.server.terminate();
    await eventually('it drains', async () => (await driver.evaluate('too-late')).body['code'] === 'ERR_DRAINING');
    await driver.setFaults({});
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(held.map(() => 200));
    expect(await code).toBe(0);
    await driver.start();
    const startedMs = performance.now();
    await driver.expectOneResultEach(ids);
    // Given back, and not left to a lock that runs out after ten seconds.
    expect(performance.now() - startedMs).toBeLessThan(8_000);
  }, 90_000);
});

describe('two processes of the fraud lane', () => {
  it('have one job and one result for a key that both are sent', async () => {
    const redis = await startOwnRedis({ durable: false });
    const one = await OverflowDriver.open(redis);
    await one.start();
    const other = await one.another();
    await one.queue().pause();
    const held = [...(await one.fillLane('one')), ...(await other.fillLane('other'))];
    const body = { card_token: 'card_demo_usd_0950' };
    const answers = await Promise.all([one, other, other, one].map((driver) => driver.evaluate('shared', { body })));
    const [id = '', ...rest] = answers.map(expectQueued);
    expect(rest).toEqual([id, id, id]);
    expect(await one.queue().getJobCountByTypes('wait')).toBe(1);
    // Whichever is asked knows it at once, where the caller says that it has asked before.
    await one.setFaults({});
    await other.setFaults({});
    await Promise.all(held);
    const headers = { 'Retry-Attempt': '1' };
    for (const driver of [one, other]) {
      expect(expectQueued(await driver.evaluate('shared', { body, headers }))).toBe(id);
      expect((await driver.read(id)).body).toMatchObject({ status: 'QUEUED' });
    }
    await one.queue().resume();
    await one.expectOneResultEach([id]);
    await one.expectQueueDrained();
    expect(await one.stored()).toBe(held.length + 1);
    for (const driver of [one, other]) await driver.server.kill('SIGKILL');
  });
});

describe('the fraud lane whose callers waited too long in its queue', () => {
  it('answers them "later", and counts each once', async () => {
    const driver = await OverflowDriver.open(await startOwnRedis({ durable: false }));
    await driver.start({ LANE_FRAUD_QUEUE_WAIT_MS: '200' });
    await driver.setFaults({ hang: true });
    const held = Array.from({ length: PERMITS }, (_, index) => driver.evaluate(`held-${index}`));
    await eventually('permits are taken', async () => (await driver.bulkhead()).in_use === PERMITS);
    const waited = await Promise.all(Array.from({ length: QUEUE }, (_, index) => driver.evaluate(`waited-${index}`)));
    const ids = waited.map(expectQueued);
    expect(await driver.rejections('queue_timeout')).toBe(QUEUE);
    expect(await driver.rejections('full')).toBe(0);
    await driver.setFaults({});
    await Promise.all(held);
    await driver.expectOneResultEach(ids);
    expect(await driver.metric('fraud_overflow_finished_total{outcome="evaluated"}')).toBe(QUEUE);
  });
});
