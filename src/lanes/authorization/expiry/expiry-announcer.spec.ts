import type { JobsOptions } from 'bullmq';
import { ExpiryAnnouncer } from './expiry-announcer';

const NOW = Date.parse('2026-01-01T00:00:00.000Z');
const inSeconds = (seconds: number): Date => new Date(NOW + seconds * 1_000);

function harness(enqueue: () => Promise<unknown> = () => Promise.resolve()) {
  const jobs: { data: unknown; options: JobsOptions }[] = [];
  let dropped = 0;
  const announcer = new ExpiryAnnouncer({
    queue: {
      enqueue: (_, data, options) => {
        jobs.push({ data, options });
        return enqueue();
      },
    },
    bucketMs: 10_000,
    inFlightMax: 2,
    wallNow: () => NOW,
    onDropped: () => (dropped += 1),
  });
  return { announcer, jobs, dropped: () => dropped };
}

it('makes one job for all holds that expire within ten seconds, after the last of them', () => {
  const { announcer, jobs } = harness();
  for (let n = 1; n <= 1_000; n += 1) announcer.announce(inSeconds(n / 100));
  expect(jobs).toHaveLength(1);
  expect(jobs[0]?.options).toMatchObject({ jobId: `due-${NOW / 10_000 + 1}`, delay: 11_000 });
  expect(jobs[0]?.data).toEqual({ due_at: '2026-01-01T00:00:10.000Z' });
  announcer.announce(inSeconds(10.001));
  expect(jobs).toHaveLength(2);
});

it('gives every process the same id for the same bucket, and one that BullMQ takes', () => {
  const [one, other] = [harness(), harness()];
  one.announcer.announce(inSeconds(3));
  other.announcer.announce(inSeconds(7));
  expect(one.jobs[0]?.options.jobId).toBe(other.jobs[0]?.options.jobId);
  expect(one.jobs[0]?.options.jobId).toMatch(/^due-\d+$/);
});

it('announces a bucket once, though answers of the one before come late', () => {
  const { announcer, jobs } = harness();
  for (const seconds of [9, 11, 9.5, 12]) announcer.announce(inSeconds(seconds));
  expect(jobs).toHaveLength(2);
});

it('drops what Redis does not take, and what it is too slow for, without a word to its caller', async () => {
  const away = harness(() => Promise.reject(new Error('away')));
  away.announcer.announce(inSeconds(1));
  await new Promise((resolve) => setImmediate(resolve));
  expect(away.dropped()).toBe(1);
  const frozen = harness(() => new Promise(() => undefined));
  for (const seconds of [1, 11, 21, 31]) frozen.announcer.announce(inSeconds(seconds));
  expect([frozen.jobs.length, frozen.dropped()]).toEqual([2, 2]);
});
