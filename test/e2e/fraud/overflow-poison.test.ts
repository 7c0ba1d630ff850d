import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/http';
import { startOwnRedis } from '../../support/services';
import { expectQueued, OverflowDriver } from './overflow-driver';

const hex = 'ab'.repeat(32);
const evaluation = {
  caller: 'checkout',
  payload_hash: hex,
  merchant_id: 'mer_demo_0001',
  card_fingerprint: hex,
  amount_minor: 5,
  currency: 'USD',
  country: 'US',
  occurred_at: new Date().toISOString(),
};
const idOf = (index: number): string => `evl_${String(index).padStart(26, '0')}`;

/** What somebody may put into the queue by hand, each under an id of its own. */
const malformed: readonly [string, unknown][] = [
  [idOf(1), {}],
  [idOf(2), null],
  [idOf(3), 'text'],
  [idOf(4), { ...evaluation, caller: '' }],
  [idOf(5), { ...evaluation, caller: 'a\u0000b' }],
  [idOf(6), { ...evaluation, caller: 'x'.repeat(100_000) }],
  [idOf(7), { ...evaluation, merchant_id: 'mer_\ud800' }],
  [idOf(8), { ...evaluation, merchant_id: 'x'.repeat(65) }],
  [idOf(9), { ...evaluation, card_fingerprint: 'card_demo_usd_0001' }],
  [idOf(10), { ...evaluation, amount_minor: 2 ** 53 }],
  [idOf(11), { ...evaluation, amount_minor: '5' }],
  [idOf(12), { ...evaluation, currency: 'usd' }],
  [idOf(13), { ...evaluation, currency: 'XXX' }],
  [idOf(14), { ...evaluation, country: 'QQ' }],
  [idOf(15), { ...evaluation, occurred_at: 'yesterday' }],
  ['evl_x', evaluation],
  ['evl_ZZZZZZZZZZZZZZZZZZZZZZZZZZ', evaluation],
  ['something-else', evaluation],
];

describe('the overflow’s worker', () => {
  let driver: OverflowDriver;

  beforeAll(async () => {
    driver = await OverflowDriver.open(await startOwnRedis({ durable: false }));
    await driver.start();
  });

  afterAll(() => driver.server.kill('SIGKILL'));

  it('gives up what is no evaluation, once each, in sight of operators, and goes on with the others', async () => {
    const queue = driver.queue();
    await queue.pause();
    for (const [jobId, data] of malformed) await queue.add('fraud-evaluation', data, { jobId, attempts: 1_000 });
    const held = await driver.fillLane('malformed');
    const id = expectQueued(await driver.evaluate('well-formed'));
    await driver.setFaults({});
    await Promise.all(held);
    const stored = await driver.stored();
    await queue.resume();
    await driver.expectOneResultEach([id]);
    await eventually('all of them are given up', async () => (await queue.getFailedCount()) === malformed.length);
    expect(await queue.getJobCountByTypes('wait', 'active', 'delayed')).toBe(0);
    const failed = await queue.getFailed();
    expect(new Set(failed.map(({ failedReason }) => failedReason))).toEqual(new Set(['This is no evaluation']));
    expect(failed.every(({ attemptsMade }) => attemptsMade === 1)).toBe(true);
    expect(await driver.stored()).toBe(stored + 1);
    for (const job of failed) await job.remove();
  }, 60_000);

  it('tries a few times a second while the database refuses everything, and loses nothing of it', async () => {
    const queue = driver.queue();
    await queue.pause();
    const held = await driver.fillLane('refusing');
    const ids: string[] = [];
    for (let turn = 0; turn < 100; turn += 1) ids.push(expectQueued(await driver.evaluate(`queued-${turn}`)));
    await driver.setFaults({});
    await Promise.all(held);
    await driver.owner.query('ALTER TABLE evaluation_generations RENAME TO mislaid');
    const failures = (): number => driver.server.records.filter(({ message }) => message === 'A job has failed').length;
    const before = failures();
    await queue.resume();
    // Five at once, pauses of 50 ms to a second: some twenty tries until the pauses are a second long, five a second then.
    await sleep(4_000);
    expect(failures() - before).toBeGreaterThan(5);
    expect(failures() - before).toBeLessThan(60);
    await driver.owner.query('ALTER TABLE mislaid RENAME TO evaluation_generations');
    await driver.expectOneResultEach(ids);
    await driver.expectQueueDrained();
  }, 90_000);
});
