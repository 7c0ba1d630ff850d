import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import { authorizationLimits } from '../../../config/lanes';
import { IdempotencyCoordinator } from '../../ingress/idempotency.coordinator';
import { LaneDatabase } from '../../platform/database/lane-database';
import type { Clock } from '../../shared/clock';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { AuthorizationController } from './authorization.controller';
import { observeGroups } from './authorization.metrics';
import { authorizationProblems } from './authorization.problems';
import { AuthorizationRepository } from './authorization.repository';
import { AuthorizationService } from './authorization.service';
import { authorizationStatements } from './authorization.statements';
import { GroupCommitter } from './group-commit/group-committer';
import type { GroupObserver } from './group-commit/group-observer';
import { KeyGenerationRoller } from './key-generation-roller';

/** What the lane's work is told of as it happens. */
interface AuthorizationHost {
  readonly clock: Clock;
  readonly executionMsMax: number;
  readonly groups: GroupObserver;
  readonly log: LaneHost['log'];
}

function providersOf({ clock, executionMsMax, groups, log }: AuthorizationHost): Provider[] {
  return [
    {
      provide: AuthorizationRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new AuthorizationRepository(store),
    },
    { provide: IdempotencyCoordinator, useFactory: () => new IdempotencyCoordinator(clock) },
    {
      provide: GroupCommitter,
      inject: [AuthorizationRepository],
      useFactory: (store: AuthorizationRepository) =>
        new GroupCommitter({ store, clock, observer: groups, limits: authorizationLimits, executionMsMax }),
    },
    {
      provide: AuthorizationService,
      inject: [GroupCommitter, AuthorizationRepository, IdempotencyCoordinator],
      useFactory: (
        committer: GroupCommitter,
        repository: AuthorizationRepository,
        coordinator: IdempotencyCoordinator,
      ) => new AuthorizationService(committer, repository, coordinator),
    },
    {
      provide: KeyGenerationRoller,
      inject: [AuthorizationRepository],
      useFactory: (repository: AuthorizationRepository) =>
        new KeyGenerationRoller({
          clock,
          roll: (ageMinHours) => repository.rollGeneration(ageMinHours),
          onRolled: (generation) => log.info({ lane: 'authorization', generation }, 'a new generation of keys'),
          onFailed: (error) => log.warn({ lane: 'authorization', err: error }, 'the keys could not be rolled; later'),
        }),
    },
  ];
}

/** The card lane: it checks cards and places holds (contract 9). */
@Module({})
export class AuthorizationModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(KeyGenerationRoller) private readonly roller: KeyGenerationRoller) {}

  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    return {
      module: AuthorizationModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: authorizationProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: authorizationStatements,
        }),
      ],
      controllers: [AuthorizationController],
      providers: providersOf({
        clock: host.clock,
        executionMsMax: settings.bulkhead.executionMsMax,
        groups: observeGroups(host),
        log: host.log,
      }),
      exports: [AuthorizationService, IdempotencyCoordinator],
    };
  }

  onApplicationBootstrap(): void {
    // Not waited for: a busy table must not keep cards from being served.
    void this.roller.start();
  }

  /** Before the pools close (contract 13's order of draining). */
  async beforeApplicationShutdown(): Promise<void> {
    await this.roller.stop();
  }
}
