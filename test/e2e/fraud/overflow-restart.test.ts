import { eventually, expectProblem } from '../../support/http';
import { startOwnRedis } from '../../support/services';
import { expectQueued, OverflowDriver } from './overflow-driver';

const body = { card_token: 'card_demo_usd_0950' };

describe('a key that waits on the overflow, sent again without a word of it', () => {
  it('is answered 202 by the process that comes after a SIGKILL, from its first request on', async () => {
    const driver = await OverflowDriver.open(await startOwnRedis({ durable: true }));
    await driver.start();
    await driver.queue().pause();
    const held = await driver.fillLane('before');
    const id = expectQueued(await driver.evaluate('waits', { body }));
    await driver.server.kill('SIGKILL');
    await Promise.allSettled(held);
    await driver.start();
    expect(expectQueued(await driver.evaluate('waits', { body }))).toBe(id);
    const other = await driver.evaluate('waits', { body: { ...body, amount_minor: 1 } });
    expectProblem(other, 422, 'ERR_IDEMPOTENCY_KEY_REUSED');
    expect((await driver.read(id)).body).toMatchObject({ id, status: 'QUEUED' });
    // What is new is evaluated at once, as ever.
    expect((await driver.evaluate('new')).status).toBe(200);
    expect(await driver.metric('fraud_overflow_waiting')).toBe(1);
    expect(await driver.metric('fraud_overflow_oldest_age_seconds')).toBeGreaterThan(0);
    await driver.queue().resume();
    await driver.expectOneResultEach([id]);
    await driver.expectQueueDrained();
    const again = await driver.evaluate('waits', { body });
    expect([again.status, again.body['id'], again.headers.get('Idempotency-Replayed')]).toEqual([200, id, 'true']);
    await driver.server.kill('SIGKILL');
  }, 60_000);

  it('is answered 202 by another process that has looked since, also while that one is full', async () => {
    const one = await OverflowDriver.open(await startOwnRedis({ durable: false }));
    await one.start();
    const other = await one.another();
    await one.queue().pause();
    const held = await one.fillLane('one');
    const id = expectQueued(await one.evaluate('shared', { body }));
    await one.setFaults({});
    await Promise.all(held);
    const looked = async (): Promise<boolean> => (await other.metric('fraud_overflow_waiting')) === 1;
    await eventually('the other one has looked', looked);
    expect(expectQueued(await other.evaluate('shared', { body }))).toBe(id);
    const othersHeld = await other.fillLane('other');
    expect(expectQueued(await other.evaluate('shared', { body }))).toBe(id);
    expect((await other.read(id)).body).toMatchObject({ id, status: 'QUEUED' });
    await other.setFaults({});
    await Promise.all(othersHeld);
    await one.queue().resume();
    await one.expectOneResultEach([id]);
    for (const driver of [one, other]) await driver.server.kill('SIGKILL');
  }, 60_000);
});

describe('the bound of the overflow', () => {
  it('holds for two processes together: of forty at the same moment the last ten places take ten', async () => {
    const one = await OverflowDriver.open(await startOwnRedis({ durable: false }));
    await one.start();
    const other = await one.another();
    const queue = one.queue();
    await queue.pause();
    const fillers = Array.from({ length: 9_990 }, (_, index) => ({
      name: 'fraud-evaluation',
      data: {},
      opts: { jobId: `filler-${index}`, delay: 3_600_000 },
    }));
    for (let at = 0; at < fillers.length; at += 1_000) await queue.addBulk(fillers.slice(at, at + 1_000));
    const held = [...(await one.fillLane('one')), ...(await other.fillLane('other'))];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? one : other).evaluate(`at-once-${index}`)),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status !== 202);
    for (const answer of refused) expectProblem(answer, 503, 'ERR_FRAUD_OVERFLOW_UNAVAILABLE');
    const waiting = await queue.getJobCountByTypes('wait', 'prioritized', 'delayed');
    expect(waiting).toBeLessThanOrEqual(10_000);
    expect(accepted.length).toBe(waiting - fillers.length);
    // A place that nobody got in the rush is there for the next; then there is none.
    for (let left = 10_000 - waiting; left > 0; left -= 1) expectQueued(await other.evaluate(`after-${left}`));
    for (const driver of [one, other]) {
      expectProblem(await driver.evaluate('one-too-many'), 503, 'ERR_FRAUD_OVERFLOW_UNAVAILABLE');
      await driver.setFaults({});
    }
    await Promise.all(held);
    expect(await queue.getJobCountByTypes('wait', 'prioritized', 'delayed')).toBe(10_000);
    for (const driver of [one, other]) await driver.server.kill('SIGKILL');
  }, 90_000);
});
