import 'reflect-metadata';
import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Job } from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { LaneQueuesModule, laneRedisToken } from '../../../src/platform/queue/lane-queues';
import { QueueWorkers } from '../../../src/platform/queue/queue-workers';
import type { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { startOwnRedis, testRedis } from '../../support/services';
import { until } from './until';

const QUEUE = `nest-jobs-${process.pid}`;
const events: string[] = [];
let concurrent = 0;
let concurrentMax = 0;

@Processor({ name: QUEUE, configKey: 'cards' })
class JobsProcessor extends WorkerHost implements OnApplicationBootstrap {
  constructor(private readonly workers: QueueWorkers) {
    super();
  }

  onApplicationBootstrap(): void {
    this.workers.start(this.worker, { concurrency: 3 });
  }

  async process(job: Job): Promise<void> {
    concurrentMax = Math.max(concurrentMax, (concurrent += 1));
    await delay((job.data as { ms: number }).ms);
    concurrent -= 1;
    events.push(`job ${job.name}`);
  }
}

@Injectable()
class Producer {
  constructor(@InjectQueue(QUEUE) readonly queue: LaneQueue) {}

  onApplicationShutdown(): void {
    events.push('shutdown');
  }
}

async function start(redisUrl: string) {
  @Module({
    imports: [LaneQueuesModule.forLane({ lane: 'cards', redisUrl, queues: [{ name: QUEUE, waitingMax: 100 }] })],
    providers: [JobsProcessor, Producer],
  })
  class JobsModule {}
  const context = await NestFactory.createApplicationContext(JobsModule, { logger: false });
  return {
    context,
    queue: context.get(Producer).queue,
    redis: context.get<ProducerRedis>(laneRedisToken('cards'), { strict: false }),
  };
}

describe('a lane’s queues in a Nest application', () => {
  beforeEach(() => {
    events.length = 0;
    concurrentMax = 0;
  });

  it('run jobs with the concurrency set at bootstrap, and end them before anything is closed', async () => {
    const { context, queue, redis } = await start((await testRedis()).url);
    await queue.waitUntilReady();
    for (let turn = 0; turn < 6; turn += 1) await queue.enqueue(`quick-${turn}`, { ms: 30 });
    await until(() => events.length === 6);
    expect(concurrentMax).toBe(3);
    await queue.enqueue('slow', { ms: 400 });
    await until(() => concurrent === 1);
    await context.close();
    expect(events.slice(-2)).toEqual(['job slow', 'shutdown']);
    await until(() => redis.status === 'end');
  });

  it('neither stop nor delay a start, and close, while Redis was never up', async () => {
    const own = await startOwnRedis({ durable: false });
    await own.kill();
    const startedMs = performance.now();
    const { context, queue } = await start(own.url);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    await expect(queue.enqueue('none', { ms: 0 })).rejects.toMatchObject({ code: 'ERR_QUEUE_UNAVAILABLE' });
    const closedMs = performance.now();
    await context.close();
    expect(performance.now() - closedMs).toBeLessThan(4_000);
  }, 30_000);

  it('go on by themselves when Redis comes back', async () => {
    const own = await startOwnRedis({ durable: true });
    const { context, queue, redis } = await start(own.url);
    await until(() => redis.usable);
    await own.kill();
    await delay(300);
    await own.restart();
    await until(() => redis.usable, 10_000);
    // A producer that is refused tries again, as a caller would.
    const added = (): Promise<boolean> =>
      queue.enqueue('after', { ms: 1 }).then(
        () => true,
        () => false,
      );
    await until(added, 10_000);
    await until(() => events.includes('job after'), 15_000);
    await context.close();
  }, 40_000);
});
