import { type DynamicModule, Inject, Module } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import { ledgerLimits } from '../../../config/lanes';
import { LaneDatabase } from '../../platform/database/lane-database';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { BalanceRollUp } from './balances/balance-roll-up';
import { LedgerBuffer } from './buffer/ledger-buffer';
import { GenerationKeeper } from './generations/generation-keeper';
import { httpControllers, httpProviders, httpStatements } from './ledger.http';
import { ingestProviders, ingestStatements } from './ledger.ingest';
import { observeLedger } from './ledger.metrics';
import { ledgerProblems } from './ledger.problems';
import { warmUp } from './warm-up';
import { JournalRepository } from './write/journal.repository';
import { checkNumbering } from './write/numbering';

/** The ledger lane: items gather in one buffer and reach the journal in micro-batches, each with its own answer (contract 11). */
@Module({})
export class LedgerModule implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #rollUp: BalanceRollUp;
  readonly #keeper: GenerationKeeper;
  readonly #database: LaneDatabase;
  readonly #journal: JournalRepository;

  constructor(
    @Inject(BalanceRollUp) rollUp: BalanceRollUp,
    @Inject(GenerationKeeper) keeper: GenerationKeeper,
    @Inject(LaneDatabase) database: LaneDatabase,
    @Inject(JournalRepository) journal: JournalRepository,
  ) {
    this.#rollUp = rollUp;
    this.#keeper = keeper;
    this.#database = database;
    this.#journal = journal;
  }

  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    const observer = observeLedger(host, settings.bulkhead.name);
    return {
      module: LedgerModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: ledgerProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: [...ingestStatements, ...httpStatements],
          tellsOwnState: true,
          genericPlans: true,
        }),
      ],
      controllers: httpControllers,
      providers: [...ingestProviders(host, ledgerLimits, observer), ...httpProviders(host, settings, observer)],
      exports: [LedgerBuffer],
    };
  }

  async onModuleInit(): Promise<void> {
    await checkNumbering(this.#database);
    await this.#keeper.open();
    await warmUp(this.#journal, this.#database.view().size);
  }

  onApplicationBootstrap(): void {
    this.#rollUp.start();
    this.#keeper.start();
  }

  /** Before the pools close (contract 13's order of draining). */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.#rollUp.stop(), this.#keeper.stop()]);
  }
}
