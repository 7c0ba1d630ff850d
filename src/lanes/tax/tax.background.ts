import { getQueueToken } from '@nestjs/bullmq';
import type { Provider } from '@nestjs/common';
import { LaneDatabase } from '../../platform/database/lane-database';
import { KEY_GENERATION_HOURS, PartitionRoller } from '../../platform/database/partition-roller';
import { ErrorThrottle } from '../../platform/queue/error-throttle';
import type { LaneQueue } from '../../platform/queue/lane-queue';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { EstimateRepository } from './estimates/estimate.repository';
import { EstimateRing, type EstimateRingLimits } from './estimates/estimate-ring';
import { EstimateWriter } from './estimates/estimate-writer';
import { ProviderClient } from './provider/provider-client';
import { ProviderHealth } from './provider/provider-health';
import { Reconciler, type ReconciliationLimits } from './reconciliation/reconciler';
import { ReconciliationAnnouncer } from './reconciliation/reconciliation-announcer';
import { RECONCILIATION_QUEUE, type ReconciliationJob } from './reconciliation/reconciliation-job';
import { RECONCILIATION_CONCURRENCY, ReconciliationProcessor } from './reconciliation/reconciliation.processor';
import type { TaxObserver } from './tax.metrics';
import { TaxRepository } from './tax.repository';

type Host = Pick<LaneHost, 'clock' | 'log'>;

/** The bounds of this work, from the lane table. */
export interface BackgroundLimits {
  readonly estimates: {
    readonly ringEntriesMax: number;
    readonly ringLinesMax: number;
    readonly flushEveryMs: number;
    readonly flushBatchMax: number;
    readonly keepDays: number;
    readonly purgeBatchMax: number;
  };
  readonly reconciliation: ReconciliationLimits;
}

/** Of estimates past their life, in an hour: more than the lane serves in one at 1,800/s (contract 10). */
const PURGE_BATCHES_MAX = 7_200;

/** A line for each kind of failure now and then: a database that is away for an hour fails every second of it. */
function failureLog({ log }: Host, what: string): (error: unknown) => void {
  const throttle = new ErrorThrottle();
  return (error) => {
    const known = error instanceof Error ? error : new Error(String(error));
    if (throttle.admits(known)) log.warn({ lane: 'tax', err: known }, `${what}; it is tried again`);
  };
}

function ringOf(limits: EstimateRingLimits, observer: TaxObserver): EstimateRing {
  const ring = new EstimateRing(limits, (count) => observer.onEstimate('lost', count));
  observer.watchRing(() => ring.size);
  return ring;
}

function estimateProviders(host: Host, observer: TaxObserver, limits: BackgroundLimits['estimates']): Provider[] {
  const { ringEntriesMax, ringLinesMax, flushEveryMs, flushBatchMax } = limits;
  return [
    {
      provide: EstimateRing,
      useFactory: () => ringOf({ entriesMax: ringEntriesMax, linesMax: ringLinesMax }, observer),
    },
    {
      provide: EstimateRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new EstimateRepository(store),
    },
    {
      provide: EstimateWriter,
      inject: [EstimateRing, EstimateRepository, getQueueToken(RECONCILIATION_QUEUE)],
      useFactory: (ring: EstimateRing, repository: EstimateRepository, queue: LaneQueue<ReconciliationJob>) => {
        const announcer = new ReconciliationAnnouncer(queue);
        return new EstimateWriter({
          ring,
          repository,
          clock: host.clock,
          flushEveryMs,
          batchMax: flushBatchMax,
          onWritten: ({ written, known, lost }) => {
            observer.onEstimate('written', written);
            observer.onEstimate('known', known);
            observer.onEstimate('lost', lost);
            if (written > 0) announcer.announce(written);
          },
          onFailed: failureLog(host, 'estimates that were served could not be written'),
        });
      },
    },
  ];
}

function reconciliationProviders(host: Host, observer: TaxObserver, limits: ReconciliationLimits): Provider[] {
  return [
    {
      provide: Reconciler,
      inject: [EstimateRepository, ProviderClient, ProviderHealth, LaneBulkheads],
      useFactory: (
        estimates: EstimateRepository,
        provider: ProviderClient,
        health: ProviderHealth,
        { main }: LaneBulkheads,
      ) =>
        new Reconciler({
          estimates,
          provider,
          isProviderWell: () => health.health().status === 'up',
          bulkhead: main,
          clock: host.clock,
          limits,
          onReconciled: ({ jurisdiction, taxMinor }, quote) =>
            observer.onReconciled(jurisdiction, taxMinor, quote.taxMinor),
          onGivenUp: ({ jurisdiction }) => observer.onGivenUp(jurisdiction),
          onFailed: failureLog(host, 'estimates could not be compared with the provider'),
        }),
    },
    { provide: RECONCILIATION_CONCURRENCY, useValue: limits.concurrency },
    ReconciliationProcessor,
  ];
}

/** What the lane does on its own: estimates into the database, their reconciliation, and what is older than its life. */
export function backgroundProviders(host: Host, observer: TaxObserver, limits: BackgroundLimits): Provider[] {
  const { keepDays, purgeBatchMax } = limits.estimates;
  return [
    ...estimateProviders(host, observer, limits.estimates),
    ...reconciliationProviders(host, observer, limits.reconciliation),
    {
      provide: PartitionRoller,
      inject: [TaxRepository, EstimateRepository],
      useFactory: (quotes: TaxRepository, estimates: EstimateRepository) =>
        new PartitionRoller({
          clock: host.clock,
          roll: async () => {
            const generation = await quotes.rollGeneration(KEY_GENERATION_HOURS);
            await quotes.purgeClaims();
            // Short statements, between which others have their turn; what they leave is for the next hour.
            for (let batches = 0; batches < PURGE_BATCHES_MAX; batches += 1) {
              if ((await estimates.purge(keepDays, purgeBatchMax)) < purgeBatchMax) break;
            }
            return generation;
          },
          onRolled: (generation) => host.log.info({ lane: 'tax', generation }, 'a new generation of quotes'),
          onFailed: failureLog(host, 'old quotes and estimates could not be removed'),
        }),
    },
  ];
}
