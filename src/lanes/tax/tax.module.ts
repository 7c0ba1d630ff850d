import { join } from 'node:path';
import { type DynamicModule, Inject, Module } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { laneTable, taxLimits } from '../../../config/lanes';
import { productFolder } from '../../../config/version';
import { LaneDatabase } from '../../platform/database/lane-database';
import { PartitionRoller } from '../../platform/database/partition-roller';
import type { DependencyHealth } from '../../platform/lane-registry';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { CertificateWatch } from './compensation/certificate-watch';
import { compensationProviders } from './compensation/compensation.providers';
import { estimateStatements } from './estimates/estimate.statements';
import { EstimateWriter } from './estimates/estimate-writer';
import { ProviderClient } from './provider/provider-client';
import { ProviderHealth } from './provider/provider-health';
import { RecoveryWatch } from './provider/recovery-watch';
import { Reconciler } from './reconciliation/reconciler';
import { backgroundProviders, type BackgroundLimits } from './tax.background';
import { TaxController } from './tax.controller';
import { observeTax } from './tax.metrics';
import { taxProblems } from './tax.problems';
import { providerProviders, quoteProviders, recoveryRemedy, type TaxOptions } from './tax.providers';
import { quoteStatements } from './tax.statements';

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
const STATEMENTS = [...quoteStatements, ...estimateStatements];
const DEPENDENCIES = Symbol('TAX_DEPENDENCIES');
const HOST = Symbol('TAX_HOST');
type Dependencies = (() => DependencyHealth)[];

function backgroundLimits(): BackgroundLimits {
  const { concurrency } = laneTable.tax.queues[0];
  return { ...taxLimits, reconciliation: { ...taxLimits.reconciliation, concurrency } };
}

/** The tax lane: the provider's tax on orders, and certified estimates where there is none (contract 10). */
@Module({})
export class TaxModule implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #own: readonly { start(): unknown; stop(): Promise<void> }[];

  constructor(
    @Inject(Reconciler) reconciler: Reconciler,
    @Inject(EstimateWriter) private readonly writer: EstimateWriter,
    @Inject(PartitionRoller) roller: PartitionRoller<number>,
    @Inject(ProviderClient) private readonly client: ProviderClient,
    @Inject(LaneBulkheads) private readonly bulkheads: LaneBulkheads,
    @Inject(ProviderHealth) health: ProviderHealth,
    @Inject(CertificateWatch) certificate: CertificateWatch,
    @Inject(RecoveryWatch) recovery: RecoveryWatch,
    @Inject(LaneDatabase) database: LaneDatabase,
    @Inject(DEPENDENCIES) dependencies: Dependencies,
    @Inject(HOST) host: LaneHost,
  ) {
    this.#own = [reconciler, roller];
    recovery.onLag = recoveryRemedy(host, client, database);
    dependencies.push(
      () => health.health(),
      () => certificate.health(),
    );
  }

  static register(options: TaxOptions): DynamicModule {
    const { host, settings, alone } = options;
    const observer = observeTax(host);
    const dependencies: Dependencies = [];
    return {
      module: TaxModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: taxProblems.full,
          abortWhenAbandoned: true,
          entities: [],
          statements: STATEMENTS,
          dependencies: () => dependencies.map((check) => check()),
        }),
      ],
      controllers: [TaxController],
      providers: [
        ...providerProviders(options, observer),
        ...quoteProviders(options, observer),
        ...backgroundProviders(host, observer, backgroundLimits()),
        ...compensationProviders({
          folder: join(productFolder(), 'config', 'tax'),
          refuseToStart: alone,
          clock: host.clock,
          alerts: host.alerts,
        }),
        { provide: DEPENDENCIES, useValue: dependencies },
        { provide: HOST, useValue: host },
      ],
    };
  }

  onApplicationBootstrap(): void {
    this.writer.start();
    for (const work of this.#own) void work.start();
  }

  /** Before the pools close (contract 13's order of draining): estimates are served as long as a permit is out. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#own.map((work) => work.stop()), this.bulkheads.main.drain()]);
    await this.writer.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }
}
