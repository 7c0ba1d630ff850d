import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import { authorizationLimits, laneTable } from '../../../config/lanes';
import { AdmissionInterceptor } from '../../ingress/admission.interceptor';
import { IdempotencyCoordinator } from '../../ingress/idempotency.coordinator';
import { LaneDatabase } from '../../platform/database/lane-database';
import { KEY_GENERATION_HOURS, PartitionRoller } from '../../platform/database/partition-roller';
import type { Clock } from '../../shared/clock';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { AuthorizationController } from './authorization.controller';
import { type BackgroundObserver, observeBackground, observeGroups } from './authorization.metrics';
import { type BackgroundLimits, backgroundProviders } from './authorization.background';
import { authorizationProblems } from './authorization.problems';
import { AuthorizationRepository } from './authorization.repository';
import { AuthorizationService } from './authorization.service';
import { authorizationStatements } from './authorization.statements';
import { ExpiryAnnouncer } from './expiry/expiry-announcer';
import { expiryStatements } from './expiry/expiry.statements';
import { ExpirySweeper } from './expiry/expiry-sweeper';
import { GroupCommitter } from './group-commit/group-committer';
import type { GroupObserver } from './group-commit/group-observer';
import { MoveController } from './moves/move.controller';
import { MoveRepository } from './moves/move.repository';
import { MoveRunner } from './moves/move-runner';
import { MoveService } from './moves/move.service';
import { moveStatements } from './moves/move.statements';
import { checkMoveTable } from './moves/move-table';
import { OutboxPurge } from './outbox/outbox-purge';
import { OutboxRelay } from './outbox/outbox-relay';
import { outboxStatements } from './outbox/outbox.statements';

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
const STATEMENTS = [...authorizationStatements, ...moveStatements, ...expiryStatements, ...outboxStatements];

/** What the lane's work is told of as it happens. */
interface AuthorizationHost {
  readonly clock: Clock;
  readonly executionMsMax: number;
  readonly groups: GroupObserver;
  readonly background: BackgroundObserver;
  readonly log: LaneHost['log'];
  readonly beforeWork: () => Promise<void> | null;
}

function providersOf({ clock, executionMsMax, groups, log, beforeWork }: AuthorizationHost): Provider[] {
  return [
    {
      provide: AuthorizationRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new AuthorizationRepository(store),
    },
    { provide: IdempotencyCoordinator, useFactory: () => new IdempotencyCoordinator(clock, beforeWork) },
    {
      provide: GroupCommitter,
      inject: [AuthorizationRepository],
      useFactory: (store: AuthorizationRepository) =>
        new GroupCommitter({ store, clock, observer: groups, limits: authorizationLimits, executionMsMax }),
    },
    {
      provide: AuthorizationService,
      inject: [GroupCommitter, AuthorizationRepository, IdempotencyCoordinator, ExpiryAnnouncer],
      useFactory: (
        committer: GroupCommitter,
        repository: AuthorizationRepository,
        coordinator: IdempotencyCoordinator,
        announcer: ExpiryAnnouncer,
      ) => new AuthorizationService(committer, repository, coordinator, (expiresAt) => announcer.announce(expiresAt)),
    },
    {
      provide: PartitionRoller,
      inject: [AuthorizationRepository],
      useFactory: (repository: AuthorizationRepository) =>
        new PartitionRoller({
          clock,
          roll: () => repository.rollGeneration(KEY_GENERATION_HOURS),
          onRolled: (generation) => log.info({ lane: 'authorization', generation }, 'a new generation of keys'),
          onFailed: (error) => log.warn({ lane: 'authorization', err: error }, 'the keys could not be rolled; later'),
        }),
    },
  ];
}

function moveProvidersOf({ clock, executionMsMax, background }: AuthorizationHost): Provider[] {
  return [
    {
      provide: MoveRepository,
      inject: [LaneDatabase, AuthorizationRepository],
      useFactory: (store: LaneDatabase, keys: AuthorizationRepository) =>
        new MoveRepository(store, keys, authorizationLimits.cardLockWaitMsMax),
    },
    {
      provide: MoveService,
      inject: [MoveRepository, IdempotencyCoordinator, OutboxRelay],
      useFactory: (store: MoveRepository, coordinator: IdempotencyCoordinator, relay: OutboxRelay) => {
        const { lockWaitersMax } = authorizationLimits;
        const runner = new MoveRunner({ store, clock, lockWaitersMax, executionMsMax });
        return new MoveService(runner, store, coordinator, (kind) => {
          background.onMoved(kind);
          if (kind !== 'reversal') relay.wake();
        });
      },
    },
  ];
}

function backgroundLimits(): BackgroundLimits {
  const { expiry, outbox } = authorizationLimits;
  const { concurrency } = laneTable.authorization.queues[0];
  return { expiry: { ...expiry, concurrency }, outbox };
}

/** The card lane: it checks cards, places holds, and captures, gives back and refunds them (contract 9). */
@Module({})
export class AuthorizationModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #own: readonly { start(): unknown; stop(): Promise<void> }[];

  constructor(
    @Inject(PartitionRoller) roller: PartitionRoller<number>,
    @Inject(ExpirySweeper) sweeper: ExpirySweeper,
    @Inject(OutboxRelay) relay: OutboxRelay,
    @Inject(OutboxPurge) purge: OutboxPurge,
  ) {
    this.#own = [roller, sweeper, relay, purge];
  }

  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    checkMoveTable();
    const own: AuthorizationHost = {
      clock: host.clock,
      executionMsMax: settings.bulkhead.executionMsMax,
      groups: observeGroups(host),
      background: observeBackground(host),
      log: host.log,
      beforeWork: () => host.faults.of('authorization').beforeWork(),
    };
    return {
      module: AuthorizationModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: authorizationProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: STATEMENTS,
        }),
      ],
      controllers: [AuthorizationController, MoveController],
      providers: [
        AdmissionInterceptor,
        ...providersOf(own),
        ...moveProvidersOf(own),
        ...backgroundProviders(host, own.background, backgroundLimits()),
      ],
      exports: [AuthorizationService, IdempotencyCoordinator],
    };
  }

  onApplicationBootstrap(): void {
    // Not waited for: a busy table must not keep cards from being served.
    for (const work of this.#own) void work.start();
  }

  /** Before the pools close (contract 13's order of draining). */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.#own.map((work) => work.stop()));
  }
}
