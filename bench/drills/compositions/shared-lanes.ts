import 'reflect-metadata';
import type { DynamicModule, Provider } from '@nestjs/common';
import { z } from 'zod';
import { Bulkhead, type Entry, type Execution } from '../../../src/bulkhead/bulkhead';
import { BULKHEAD, LANE_ADMISSION, type LaneAdmission } from '../../../src/ingress/admission.interceptor';
import { LaneBulkheads } from '../../../src/lanes/lane-bulkheads';
import { type LaneDemand, LaneInfrastructureModule } from '../../../src/lanes/lane-infrastructure.module';
import { LaneDatabase } from '../../../src/platform/database/lane-database';
import { observeBulkhead } from '../../../src/platform/lane-observers';
import { LaneQueuesModule, laneRedisToken } from '../../../src/platform/queue/lane-queues';
import type { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { SharedPool, SharedStore } from './shared-pool';

/*
 * The control of the brownout drills: the same product, composed in one place as most services are, with one bulkhead and
 * one pool for all lanes. `node --require dist/bench/drills/compositions/shared-lanes.js dist/src/main.js` puts this
 * in the place of `src/lanes/lane-infrastructure.module.ts`, and nothing else is different.
 */

const NAME = 'bulkhead_shared';

const composition = z
  .strictObject({
    database_url: z.string(),
    permits: z.int().min(1),
    queue: z.int().min(0),
    connections: z.int().min(1),
    /** A tax execution holds a connection while it waits for the provider, as the incident's did [ADV-FD-01]. */
    tax_holds_connection: z.boolean(),
  })
  .parse(JSON.parse(process.env['DRILL_SHARED_LANES'] ?? '{}'));

const pool = new SharedPool(composition.database_url, composition.connections);
let bulkhead: Bulkhead | null = null;

/** Made with the first lane, whose host all lanes have. */
function sharedBulkhead({ host }: LaneDemand): Bulkhead {
  const { permits, queue } = composition;
  const listeners = { lane: 'shared', alerts: host.alerts, log: host.log };
  bulkhead ??= new Bulkhead(
    {
      name: NAME,
      permits,
      queueMax: queue,
      queueWaitMsMax: 100,
      executionMsMax: 10_000,
      background: { permitsMax: 11, inUseMax: Math.floor(permits / 2) },
    },
    host.clock,
    observeBulkhead(host.metrics.bulkhead(NAME), listeners),
  );
  return bulkhead;
}

type Work<T> = (execution: Execution) => T | PromiseLike<T>;

/** The shared bulkhead as the tax lane of the incident used it. */
function holdingConnections(shared: Bulkhead, schema: string): Pick<Bulkhead, 'enter'> {
  const held = async <T>(work: Work<T>, execution: Execution): Promise<T> => {
    const client = await pool.take(schema);
    try {
      return await work(execution);
    } finally {
      client.release();
    }
  };
  return {
    enter: <T>(work: Work<T>, options?: { abortWhenAbandoned?: boolean }): Entry<T> =>
      shared.enter<T>((execution) => held(work, execution), options),
  };
}

function providersOf(demand: LaneDemand): Provider[] {
  const { host, settings, full, abortWhenAbandoned } = demand;
  const { lane, datasource } = settings;
  const shared = sharedBulkhead(demand);
  const metrics = host.metrics.bulkhead(NAME);
  const faults = host.faults.of(lane);
  const admission: LaneAdmission = {
    lane,
    full,
    abortWhenAbandoned,
    onRejected: (reason) => metrics.rejected(reason),
    onShed: (shedMs) => metrics.shed(shedMs),
    beforeWork: () => faults.beforeWork(),
  };
  const holds = lane === 'tax' && composition.tax_holds_connection;
  return [
    { provide: LaneBulkheads, useValue: new LaneBulkheads(shared, settings.readBulkhead === null ? null : shared) },
    { provide: BULKHEAD, useValue: holds ? holdingConnections(shared, datasource.schema) : shared },
    { provide: LANE_ADMISSION, useValue: admission },
    {
      provide: LaneDatabase,
      useFactory: async () => {
        await pool.open();
        return new SharedStore(pool, datasource.schema);
      },
    },
    {
      provide: `LaneRegistration:${lane}`,
      inject: [laneRedisToken(lane)],
      useFactory: (redis: ProducerRedis): true => {
        host.registry.register({
          lane,
          priority: settings.specification.priority,
          bulkheads: () => [shared.snapshot()],
          pool: () => pool.view(),
          database: async () => ({ name: 'shared_ds', status: 'up' }),
          dependencies: async () => [await redis.health()],
        });
        return true;
      },
    },
  ];
}

LaneInfrastructureModule.forLane = (demand: LaneDemand): DynamicModule => {
  const { lane, redisUrl, specification } = demand.settings;
  if (redisUrl === null) throw new Error(`The lane ${lane} is not hosted by this process`);
  const queues = specification.queues.map(({ name, waitingMax }) => ({ name, waitingMax }));
  return {
    module: LaneInfrastructureModule,
    imports: [LaneQueuesModule.forLane({ lane, redisUrl, queues })],
    providers: providersOf(demand),
    exports: [LaneBulkheads, BULKHEAD, LANE_ADMISSION, LaneDatabase, LaneQueuesModule],
  };
};
