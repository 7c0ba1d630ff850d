import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { JobsOptions } from 'bullmq';
import { LaneQueue, type LaneQueueOptions } from './lane-queue';
import { LaneWorker } from './lane-worker';
import { QueueWorkers } from './queue-workers';
import { ProducerRedis } from './redis-connections';

// The classes that @nestjs/bullmq makes queues and workers of; it reads them when modules are put together.
BullModule.queueClass = LaneQueue as never;
BullModule.workerClass = LaneWorker;

export interface LaneQueueRegistration {
  readonly name: string;
  readonly waitingMax: number;
  readonly jobOptions?: JobsOptions;
}

export interface LaneQueuesOptions {
  /** The lane whose Redis this is; `@Processor({ name, configKey })` and the key prefix use it. */
  readonly lane: string;
  readonly redisUrl: string;
  readonly queues: readonly LaneQueueRegistration[];
}

/** The token of a lane's producer connection, for its health. */
export function laneRedisToken(lane: string): string {
  return `LaneRedis:${lane}`;
}

/** Lanes may share a Redis server without ever sharing a key (contract 12). */
export function lanePrefix(lane: string): string {
  return `payment-core:${lane}`;
}

@Module({})
class LaneRedisModule {}

@Module({ providers: [QueueWorkers], exports: [QueueWorkers] })
class QueueWorkersModule {}

@Module({})
export class LaneQueuesModule {
  /**
   * A lane's queues in this process: `@InjectQueue(name)` gives a {@link LaneQueue}. With no queues it is the
   * connection of another lane whose jobs this process runs.
   */
  static forLane({ lane, redisUrl, queues }: LaneQueuesOptions): DynamicModule {
    const token = laneRedisToken(lane);
    const redisModule: DynamicModule = {
      module: LaneRedisModule,
      providers: [{ provide: token, useFactory: () => new ProducerRedis(redisUrl) }],
      exports: [token],
    };
    const registrations = queues.map(({ name, waitingMax, jobOptions }) => {
      const options: Omit<LaneQueueOptions, 'connection'> = { waitingMax, defaultJobOptions: jobOptions ?? {} };
      return { name, configKey: lane, ...options };
    });
    const imports = [
      redisModule,
      QueueWorkersModule,
      BullModule.forRootAsync(lane, {
        imports: [redisModule],
        inject: [token],
        useFactory: (redis: ProducerRedis) => ({ connection: redis, prefix: lanePrefix(lane) }),
      }),
      ...(registrations.length > 0 ? [BullModule.registerQueue(...registrations)] : []),
    ];
    return { module: LaneQueuesModule, imports, exports: imports };
  }
}
