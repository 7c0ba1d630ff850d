import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { FraudSettings, LaneSettings } from '../../../config/environment';
import { fraudLimits, fraudOverflowLimits, laneTable } from '../../../config/lanes';
import { AdmissionInterceptor } from '../../ingress/admission.interceptor';
import { IdempotencyCoordinator } from '../../ingress/idempotency.coordinator';
import { LaneDatabase } from '../../platform/database/lane-database';
import { KEY_GENERATION_HOURS, PartitionRoller } from '../../platform/database/partition-roller';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { CardTurns } from './card-turns';
import { EvaluationTasks } from './evaluation-task';
import { EVALUATOR, type Evaluator, OVERFLOW_LOOKUP, type OverflowLookup } from './fraud';
import { EVALUATIONS_PATH, FraudController } from './fraud.controller';
import { FraudEvaluator } from './fraud.evaluator';
import { presentEvaluation } from './fraud.presenter';
import { fraudProblems } from './fraud.problems';
import { FraudRepository } from './fraud.repository';
import { FraudService } from './fraud.service';
import { fraudStatements } from './fraud.statements';
import { overflowProviders } from './overflow/overflow.providers';
import { Judge } from './rules/judge';
import { readRuleFile } from './rules/rule-file';

/** What a check of the partitions has done; nulls where nothing was due. */
interface Rolled {
  readonly generation: number | null;
  readonly weeks: number | null;
}

function providersOf({ clock, faults, log }: LaneHost, fingerprintKey: string, judge: Judge): Provider[] {
  return [
    { provide: EvaluationTasks, useFactory: () => new EvaluationTasks(fingerprintKey) },
    {
      provide: FraudRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new FraudRepository(store, judge.rulesHash),
    },
    {
      provide: IdempotencyCoordinator,
      useFactory: () => new IdempotencyCoordinator(clock, () => faults.of('fraud').beforeWork()),
    },
    {
      provide: EVALUATOR,
      inject: [FraudRepository, IdempotencyCoordinator],
      useFactory: (repository: FraudRepository, coordinator: IdempotencyCoordinator) =>
        new FraudEvaluator(repository, judge, coordinator, new CardTurns(clock, fraudLimits.cardTurnWaitMsMax)),
    },
    {
      provide: FraudService,
      inject: [EVALUATOR, FraudRepository, OVERFLOW_LOOKUP],
      useFactory: (evaluator: Evaluator, repository: FraudRepository, overflow: OverflowLookup) =>
        new FraudService(evaluator, repository, overflow),
    },
    {
      provide: PartitionRoller,
      inject: [FraudRepository],
      useFactory: (repository: FraudRepository) =>
        new PartitionRoller<Rolled>({
          clock,
          roll: () => rollAll(repository),
          onRolled: (rolled) => log.info({ lane: 'fraud', ...rolled }, 'partitions of results or history were rolled'),
          onFailed: (error) => log.warn({ lane: 'fraud', err: error }, 'partitions could not be rolled; later'),
        }),
    },
  ];
}

async function rollAll(repository: FraudRepository): Promise<Rolled | null> {
  const weeks = await repository.rollAttempts();
  const generation = await repository.rollGeneration(KEY_GENERATION_HOURS);
  return weeks === null && generation === null ? null : { weeks, generation };
}

/** The fraud lane: it scores payments by rules, and where it is full it answers later (contract 10). */
@Module({})
export class FraudModule implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #roller: PartitionRoller<Rolled>;

  constructor(@Inject(PartitionRoller) roller: PartitionRoller<Rolled>) {
    this.#roller = roller;
  }

  /** @throws RuleFileError where the rules are not usable. */
  static register(host: LaneHost, settings: LaneSettings, { fingerprintKey, rulesFile }: FraudSettings): DynamicModule {
    if (fingerprintKey === null) throw new Error('There is no key for the fingerprints of cards');
    const judge = new Judge(readRuleFile(rulesFile));
    const metrics = host.metrics.bulkhead(settings.bulkhead.name);
    const { concurrency } = laneTable.fraud.queues[0];
    return {
      module: FraudModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: fraudProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: fraudStatements,
          standInCounts: true,
        }),
      ],
      controllers: [FraudController],
      providers: [
        AdmissionInterceptor,
        ...providersOf(host, fingerprintKey, judge),
        ...overflowProviders(
          host,
          { ...fraudOverflowLimits, concurrency },
          {
            present: presentEvaluation,
            locationOf: (id) => `${EVALUATIONS_PATH}/${id}`,
            onRejected: (reason) => metrics.rejected(reason),
          },
        ),
      ],
    };
  }

  /** Waited for, and bounded: a lane that was down for weeks has no partition for the payments of today. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#roller.start();
  }

  /** Before the pools close (contract 13's order of draining). */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#roller.stop();
  }
}
