import { join } from 'node:path';
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import type { DataSource, DataSourceOptions } from 'typeorm';
import type { LaneSettings } from '../../config/environment';
import { backgroundInUseMax, type BulkheadSpecification, LANES, laneTable } from '../../config/lanes';
import { Bulkhead, type BulkheadLimits } from '../bulkhead/bulkhead';
import { BULKHEAD, LANE_ADMISSION, type LaneAdmission } from '../ingress/admission.interceptor';
import { checkDatabaseAtBoot } from '../platform/database/boot-check';
import { connectLaneDataSource, laneDataSourceOptions } from '../platform/database/lane-data-source';
import { LaneDatabase } from '../platform/database/lane-database';
import type { Statement } from '../platform/database/statement';
import { observeBulkhead, observeDatabase, type ObservedBulkhead } from '../platform/lane-observers';
import type { DependencyHealth } from '../platform/lane-registry';
import { LaneQueuesModule, laneRedisToken } from '../platform/queue/lane-queues';
import type { ProducerRedis } from '../platform/queue/redis-connections';
import type { ProblemKind } from '../shared/problem';
import { LaneBulkheads } from './lane-bulkheads';
import type { LaneHost } from './lane-host';
import { migrationNamesIn } from './migration-names';

/** What a lane says of itself to get its own ground to stand on. */
export interface LaneDemand {
  readonly host: LaneHost;
  readonly settings: LaneSettings;
  /** The answer when the lane is full. */
  readonly full: ProblemKind;
  /** A client that goes aborts its call; false lets the work run to its end (contract 4.9). */
  readonly abortWhenAbandoned: boolean;
  readonly entities: NonNullable<DataSourceOptions['entities']>;
  /** Hot statements: every connection parses them before the process is ready. */
  readonly statements: readonly Statement[];
  /**
   * The lane's stand-in counts what the full lane refused, since only it knows how that ended (`overflow_failed`); the
   * bulkhead's observer then does not, so that each outcome is counted once (contract 4.9).
   */
  readonly standInCounts?: boolean;
  /** What the lane leans on beside its database and its Redis; `degraded` where it fails, never unready (contract 13). */
  readonly dependencies?: () => readonly DependencyHealth[];
  /** The lane tells its state itself (contract 5): what it counts is not its permits. */
  readonly tellsOwnState?: boolean;
  /** See {@link LaneDataSourceSettings}. */
  readonly genericPlans?: boolean;
}

/**
 * A lane's own permits, datasource, pool and queues, and its entry in the registry (contract 3 and 12). Every lane
 * module imports one of its own; the tokens are the same in each, and what they stand for is never shared.
 */
@Module({})
export class LaneInfrastructureModule {
  static forLane(demand: LaneDemand): DynamicModule {
    const { settings } = demand;
    const { lane, datasource, databaseUrl, redisUrl, specification } = settings;
    if (databaseUrl === null || redisUrl === null) throw new Error(`The lane ${lane} is not hosted by this process`);
    return {
      module: LaneInfrastructureModule,
      imports: [
        TypeOrmModule.forRootAsync({
          name: datasource.name,
          useFactory: () => ({
            // Connecting has its own 30 s of trying; the library's ten tries on top would make five minutes of them.
            toRetry: () => false,
            ...laneDataSourceOptions({
              datasource: datasource.name,
              url: databaseUrl,
              schema: datasource.schema,
              connections: datasource.connections,
              executionMsMax: settings.bulkhead.executionMsMax,
              entities: demand.entities,
              genericPlans: demand.genericPlans ?? false,
            }),
          }),
          dataSourceFactory: (options) => connectLaneDataSource(options),
        }),
        LaneQueuesModule.forLane({
          lane,
          redisUrl,
          queues: specification.queues.map(({ name, waitingMax }) => ({ name, waitingMax })),
        }),
      ],
      providers: [bulkheadsOf(demand), permitsOf(), admissionOf(demand), databaseOf(demand), registrationOf(demand)],
      exports: [LaneBulkheads, BULKHEAD, LANE_ADMISSION, LaneDatabase, LaneQueuesModule],
    };
  }
}

function limitsOf(specification: BulkheadSpecification): BulkheadLimits {
  const { name, permits, queueMax, queueWaitMsMax, executionMsMax, background } = specification;
  return {
    name,
    permits,
    queueMax,
    queueWaitMsMax,
    executionMsMax,
    background: background && {
      permitsMax: background.permitsMax,
      inUseMax: backgroundInUseMax(permits, background),
    },
  };
}

function bulkheadsOf({ host, settings, standInCounts = false, tellsOwnState = false }: LaneDemand): Provider {
  const { lane, bulkhead, readBulkhead } = settings;
  const observe = (specification: BulkheadSpecification): ObservedBulkhead =>
    observeBulkhead(host.metrics.bulkhead(specification.name), {
      lane,
      alerts: host.alerts,
      log: host.log,
      onStuck: () => host.onLaneStuck(lane),
    });
  const make = (specification: BulkheadSpecification, observer: ObservedBulkhead): Bulkhead =>
    new Bulkhead(limitsOf(specification), host.clock, observer);
  return {
    provide: LaneBulkheads,
    useFactory: () => {
      const observer = observe(bulkhead);
      return new LaneBulkheads(
        make(bulkhead, {
          ...observer,
          ...(standInCounts && { onRefused: withoutFullLane(observer) }),
          ...(tellsOwnState && { onStateChanged: () => {} }),
        }),
        readBulkhead && make(readBulkhead, observe(readBulkhead)),
      );
    },
  };
}

/** Leaves out the refusals that a stand-in is asked about. */
function withoutFullLane(observer: ObservedBulkhead): ObservedBulkhead['onRefused'] {
  return (reason, background) => {
    if (background === true || (reason !== 'full' && reason !== 'queue_timeout'))
      observer.onRefused(reason, background);
  };
}

function permitsOf(): Provider {
  return { provide: BULKHEAD, inject: [LaneBulkheads], useFactory: ({ main }: LaneBulkheads) => main };
}

function admissionOf({ host, settings, full, abortWhenAbandoned }: LaneDemand): Provider {
  const metrics = host.metrics.bulkhead(settings.bulkhead.name);
  const faults = host.faults.of(settings.lane);
  const admission: LaneAdmission = {
    lane: settings.lane,
    full,
    abortWhenAbandoned,
    onRejected: (reason) => metrics.rejected(reason),
    onShed: (shedMs) => metrics.shed(shedMs),
    beforeWork: () => faults.beforeWork(),
  };
  return { provide: LANE_ADMISSION, useValue: admission };
}

function databaseOf({ host, settings, statements }: LaneDemand): Provider {
  const { lane, datasource } = settings;
  const faults = host.faults.of(lane);
  return {
    provide: LaneDatabase,
    inject: [getDataSourceToken(datasource.name)],
    useFactory: async (dataSource: DataSource): Promise<LaneDatabase> => {
      const database = LaneDatabase.of(dataSource, {
        datasource: datasource.name,
        connections: datasource.connections,
        connectionWaitMsMax: datasource.connectionWaitMsMax,
        executionMsMax: settings.bulkhead.executionMsMax,
        clock: host.clock,
        observer: observeDatabase(datasource.name, host.metrics.datasource(datasource.name), { lane, log: host.log }),
        faults: () => faults.current(),
      });
      await database.open();
      await checkDatabaseAtBoot(database, {
        datasource: datasource.name,
        role: datasource.role,
        schema: datasource.schema,
        foreignSchemas: LANES.filter((other) => other !== lane).map((other) => laneTable[other].datasource.schema),
        connectionsTotal: host.connectionsOnServerOf(lane),
        migrations: migrationNamesIn(join(__dirname, '..', '..', 'migrations', lane)),
        migrateCommand: 'npm run migrate',
      });
      await database.prepareAll(statements);
      return database;
    },
  };
}

function registrationOf({ host, settings, dependencies }: LaneDemand): Provider {
  const { lane, specification } = settings;
  return {
    provide: `LaneRegistration:${lane}`,
    inject: [LaneBulkheads, LaneDatabase, laneRedisToken(lane)],
    useFactory: (bulkheads: LaneBulkheads, database: LaneDatabase, redis: ProducerRedis): true => {
      host.registry.register({
        lane,
        priority: specification.priority,
        bulkheads: () => bulkheads.snapshots(),
        pool: () => database.view(),
        database: () => database.health(),
        dependencies: async () => [await redis.health(), ...(dependencies?.() ?? [])],
      });
      return true;
    },
  };
}
