import { join } from 'node:path';
import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { LaneSettings, Settings } from '../../../config/environment';
import { laneTable, taxLimits } from '../../../config/lanes';
import { productFolder } from '../../../config/version';
import { AdmissionInterceptor, STAND_IN } from '../../ingress/admission.interceptor';
import { IdempotencyCoordinator } from '../../ingress/idempotency.coordinator';
import { LaneDatabase } from '../../platform/database/lane-database';
import { ErrorThrottle } from '../../platform/queue/error-throttle';
import type { DependencyHealth } from '../../platform/lane-registry';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { CertificateWatch } from './compensation/certificate-watch';
import { compensationProviders } from './compensation/compensation.providers';
import { CompensationGuard } from './compensation.guard';
import { EstimateRepository } from './estimates/estimate.repository';
import { EstimateRing } from './estimates/estimate-ring';
import { estimateStatements } from './estimates/estimate.statements';
import { EstimateWriter } from './estimates/estimate-writer';
import { ProviderClient } from './provider/provider-client';
import { ProviderHealth } from './provider/provider-health';
import { Reconciler } from './reconciliation/reconciler';
import { ESTIMATOR, type Estimator } from './tax';
import { backgroundProviders, type BackgroundLimits } from './tax.background';
import { TaxController } from './tax.controller';
import { observeTax, type TaxObserver } from './tax.metrics';
import { taxProblems } from './tax.problems';
import { TaxRepository } from './tax.repository';
import { TaxService } from './tax.service';
import { TaxStandIn } from './tax.stand-in';
import { quoteStatements } from './tax.statements';
import { Upkeep } from './upkeep';

/** Parsed on every connection before the lane is ready: nobody's request pays for it. */
const STATEMENTS = [...quoteStatements, ...estimateStatements];
/** Beyond the execution limit: the claim of a call that runs must not be taken over. */
const CLAIM_MARGIN_MS = 5_000;

const PROVIDER_HEALTH = Symbol('PROVIDER_HEALTH');
const DEPENDENCIES = Symbol('TAX_DEPENDENCIES');
type Dependencies = (() => DependencyHealth)[];

export interface TaxOptions {
  readonly host: LaneHost;
  readonly settings: LaneSettings;
  readonly provider: Settings['taxProvider'];
  /** This process hosts no other lane, so it need not serve without certified estimates. */
  readonly alone: boolean;
}

function providersOf({ host, settings, provider }: TaxOptions, observer: TaxObserver): Provider[] {
  const { clock, log } = host;
  const { permits, executionMsMax } = settings.bulkhead;
  const unstored = new ErrorThrottle();
  return [
    { provide: PROVIDER_HEALTH, useClass: ProviderHealth },
    {
      provide: ProviderClient,
      inject: [PROVIDER_HEALTH],
      useFactory: (health: ProviderHealth) =>
        new ProviderClient({
          baseUrl: provider.url,
          token: provider.token,
          callMsMax: provider.timeoutMs,
          connectionsMax: permits,
          clock,
          observer: {
            onCall: (outcome, elapsedMs) => {
              health.note(outcome);
              observer.onCall(outcome, elapsedMs);
            },
          },
        }),
    },
    {
      provide: TaxRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new TaxRepository(store),
    },
    {
      provide: IdempotencyCoordinator,
      useFactory: () => new IdempotencyCoordinator(clock, () => host.faults.of('tax').beforeWork()),
    },
    {
      provide: TaxService,
      inject: [ProviderClient, TaxRepository, EstimateRepository, EstimateRing, IdempotencyCoordinator],
      useFactory: (
        client: ProviderClient,
        repository: TaxRepository,
        estimates: EstimateRepository,
        ring: EstimateRing,
        coordinator: IdempotencyCoordinator,
      ) =>
        new TaxService({
          provider: client,
          repository,
          estimates,
          ring,
          coordinator,
          clock,
          claimMs: executionMsMax + CLAIM_MARGIN_MS,
          onUnstored: (error) => {
            observer.onUnstored();
            const known = error instanceof Error ? error : new Error(String(error));
            if (unstored.admits(known)) log.warn({ lane: 'tax', err: known }, 'a quote was answered and not stored');
          },
        }),
    },
    {
      provide: STAND_IN,
      inject: [ESTIMATOR, EstimateRing],
      useFactory: (estimator: Estimator, ring: EstimateRing) =>
        new TaxStandIn({
          estimator,
          ring,
          now: () => new Date(),
          onServed: () => observer.onEstimate('served', 1),
        }),
    },
    CompensationGuard,
    AdmissionInterceptor,
  ];
}

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
    @Inject(Upkeep) upkeep: Upkeep,
    @Inject(ProviderClient) private readonly client: ProviderClient,
    @Inject(LaneBulkheads) private readonly bulkheads: LaneBulkheads,
    @Inject(PROVIDER_HEALTH) health: ProviderHealth,
    @Inject(CertificateWatch) certificate: CertificateWatch,
    @Inject(DEPENDENCIES) dependencies: Dependencies,
  ) {
    this.#own = [reconciler, upkeep];
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
        ...providersOf(options, observer),
        ...backgroundProviders(host, observer, backgroundLimits()),
        ...compensationProviders({
          folder: join(productFolder(), 'config', 'tax'),
          refuseToStart: alone,
          clock: host.clock,
          alerts: host.alerts,
        }),
        { provide: DEPENDENCIES, useValue: dependencies },
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
