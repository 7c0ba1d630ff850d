import type { Provider } from '@nestjs/common';
import type { LaneSettings, Settings } from '../../../config/environment';
import { AdmissionInterceptor, STAND_IN } from '../../ingress/admission.interceptor';
import { IdempotencyCoordinator } from '../../ingress/idempotency.coordinator';
import { LaneDatabase } from '../../platform/database/lane-database';
import { ErrorThrottle } from '../../platform/queue/error-throttle';
import type { LaneHost } from '../lane-host';
import { CompensationGuard } from './compensation.guard';
import { EstimateRepository } from './estimates/estimate.repository';
import { EstimateRing } from './estimates/estimate-ring';
import { ProviderClient } from './provider/provider-client';
import { ProviderHealth } from './provider/provider-health';
import { RecoveryWatch } from './provider/recovery-watch';
import { ESTIMATOR, type Estimator } from './tax';
import type { TaxObserver } from './tax.metrics';
import { TaxRepository } from './tax.repository';
import { TaxService } from './tax.service';
import { TaxStandIn } from './tax.stand-in';

/** Beyond the execution limit: the claim of a call that runs must not be taken over. */
const CLAIM_MARGIN_MS = 5_000;

export interface TaxOptions {
  readonly host: LaneHost;
  readonly settings: LaneSettings;
  readonly provider: Settings['taxProvider'];
  /** This process hosts no other lane, so it need not serve without certified estimates. */
  readonly alone: boolean;
}

/** Whoever is asked for the tax, and who watches how that goes. */
export function providerProviders({ host, settings, provider }: TaxOptions, observer: TaxObserver): Provider[] {
  const { clock } = host;
  const { permits } = settings.bulkhead;
  return [
    { provide: ProviderHealth, useClass: ProviderHealth },
    { provide: RecoveryWatch, useFactory: () => new RecoveryWatch(clock) },
    {
      provide: ProviderClient,
      inject: [ProviderHealth, RecoveryWatch],
      useFactory: (health: ProviderHealth, recovery: RecoveryWatch) =>
        new ProviderClient({
          baseUrl: provider.url,
          token: provider.token,
          callMsMax: provider.timeoutMs,
          connectionsMax: permits,
          clock,
          observer: {
            onCall: (outcome, elapsedMs) => {
              health.note(outcome);
              recovery.note(outcome);
              observer.onCall(outcome, elapsedMs);
            },
          },
        }),
    },
  ];
}

/** What answers quotes, and what stands in for the answer. */
export function quoteProviders({ host, settings }: TaxOptions, observer: TaxObserver): Provider[] {
  const { clock, log } = host;
  const { executionMsMax } = settings.bulkhead;
  const unstored = new ErrorThrottle();
  return [
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
      inject: [ProviderClient, TaxRepository, EstimateRepository, EstimateRing, IdempotencyCoordinator, RecoveryWatch],
      useFactory: (
        client: ProviderClient,
        repository: TaxRepository,
        estimates: EstimateRepository,
        ring: EstimateRing,
        coordinator: IdempotencyCoordinator,
        recovery: RecoveryWatch,
      ) =>
        new TaxService({
          provider: client,
          repository,
          estimates,
          ring,
          coordinator,
          clock,
          claimMs: executionMsMax + CLAIM_MARGIN_MS,
          track: (work) => recovery.track(work),
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

/** What is done where executions lag behind the provider's recovery [MC-RT-01]: alert, and new sockets and connections. */
export function recoveryRemedy(
  { alerts, log }: Pick<LaneHost, 'alerts' | 'log'>,
  client: Pick<ProviderClient, 'destroySockets'>,
  database: Pick<LaneDatabase, 'replaceConnections'>,
): (lagging: number) => void {
  const failed = (error: unknown): void =>
    log.warn({ lane: 'tax', err: error }, 'what lagged behind the recovery could not be replaced');
  return (lagging) => {
    alerts.raise(
      'ALERT_BULKHEAD_RECOVERY_LAG',
      `bulkhead_tax_calc: ${lagging} executions are still in use 10 s after the provider has recovered; its sockets ` +
        'are destroyed and the connections of tax_ds replaced',
      { key: 'bulkhead_tax_calc', lane: 'tax', lagging },
    );
    client.destroySockets().catch(failed);
    database.replaceConnections().catch(failed);
  };
}
