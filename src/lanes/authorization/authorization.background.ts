import { getQueueToken } from '@nestjs/bullmq';
import type { Provider } from '@nestjs/common';
import { LaneDatabase } from '../../platform/database/lane-database';
import { ErrorThrottle } from '../../platform/queue/error-throttle';
import type { LaneQueue } from '../../platform/queue/lane-queue';
import type { LaneHost } from '../lane-host';
import { LaneBulkheads } from '../lane-bulkheads';
import type { BackgroundObserver } from './authorization.metrics';
import { ExpiryAnnouncer } from './expiry/expiry-announcer';
import { EXPIRY_QUEUE, type ExpiryJob } from './expiry/expiry-job';
import { EXPIRY_CONCURRENCY, ExpiryProcessor } from './expiry/expiry.processor';
import { ExpiryRepository } from './expiry/expiry.repository';
import { ExpirySweeper } from './expiry/expiry-sweeper';
import { LagWatch } from './outbox/lag-watch';
import { OutboxPurge } from './outbox/outbox-purge';
import { OutboxRelay } from './outbox/outbox-relay';
import { OutboxRepository } from './outbox/outbox.repository';
import { SETTLEMENT_QUEUE, type SettlementEvent } from './outbox/settlement-event';

type Host = Pick<LaneHost, 'clock' | 'alerts' | 'log'>;

/** The bounds of this work, from the lane table. */
export interface BackgroundLimits {
  readonly expiry: {
    readonly bucketMs: number;
    readonly announcementsInFlightMax: number;
    readonly sweepEveryMs: number;
    readonly sweepBatchMax: number;
    /** Jobs of `authorization-expiry` that this process runs at once. */
    readonly concurrency: number;
  };
  readonly outbox: {
    readonly pollEveryMs: number;
    readonly batchMax: number;
    readonly leaseMs: number;
    readonly lagMsMax: number;
    readonly keepHours: number;
    readonly purgeEveryMs: number;
    readonly purgeBatchMax: number;
  };
}

/** A line for each kind of failure now and then: a Redis that is away for an hour fails every second of it. */
function failureLog({ log }: Host, what: string): (error: unknown) => void {
  const throttle = new ErrorThrottle();
  return (error) => {
    const known = error instanceof Error ? error : new Error(String(error));
    if (throttle.admits(known)) log.warn({ lane: 'authorization', err: known }, `${what}; it is tried again`);
  };
}

function expiryProviders(host: Host, observer: BackgroundObserver, limits: BackgroundLimits['expiry']): Provider[] {
  const { bucketMs, announcementsInFlightMax, sweepEveryMs, sweepBatchMax, concurrency } = limits;
  return [
    {
      provide: ExpiryAnnouncer,
      inject: [getQueueToken(EXPIRY_QUEUE)],
      useFactory: (queue: LaneQueue<ExpiryJob>) =>
        new ExpiryAnnouncer({
          queue,
          bucketMs,
          inFlightMax: announcementsInFlightMax,
          wallNow: () => Date.now(),
          onDropped: () => observer.onAnnouncementDropped(),
        }),
    },
    {
      provide: ExpirySweeper,
      inject: [LaneDatabase, LaneBulkheads],
      useFactory: (store: LaneDatabase, { main }: LaneBulkheads) =>
        new ExpirySweeper({
          repository: new ExpiryRepository(store),
          bulkhead: main,
          clock: host.clock,
          sweepEveryMs,
          batchMax: sweepBatchMax,
          onExpired: (count) => observer.onExpired(count),
          onFailed: failureLog(host, 'authorizations past their time could not be expired'),
        }),
    },
    { provide: EXPIRY_CONCURRENCY, useValue: concurrency },
    ExpiryProcessor,
  ];
}

function outboxProviders(host: Host, observer: BackgroundObserver, limits: BackgroundLimits['outbox']): Provider[] {
  const { clock, alerts } = host;
  return [
    {
      provide: OutboxRelay,
      inject: [LaneDatabase, LaneBulkheads, getQueueToken(SETTLEMENT_QUEUE)],
      useFactory: (store: LaneDatabase, { main }: LaneBulkheads, queue: LaneQueue<SettlementEvent>) => {
        const lag = new LagWatch({ clock, alerts, lagMsMax: limits.lagMsMax });
        observer.watchLag(() => lag.lagMs);
        return new OutboxRelay({
          store: new OutboxRepository(store),
          queue,
          bulkhead: main,
          clock,
          lag,
          pollEveryMs: limits.pollEveryMs,
          batchMax: limits.batchMax,
          leaseMs: limits.leaseMs,
          onPublished: (count) => observer.onPublished(count),
          onFailed: failureLog(host, 'captures and refunds could not be told to the ledger'),
        });
      },
    },
    {
      provide: OutboxPurge,
      inject: [LaneDatabase, LaneBulkheads],
      useFactory: (store: LaneDatabase, { main }: LaneBulkheads) =>
        new OutboxPurge({
          store: new OutboxRepository(store),
          bulkhead: main,
          clock,
          keepHours: limits.keepHours,
          batchMax: limits.purgeBatchMax,
          everyMs: limits.purgeEveryMs,
          onFailed: failureLog(host, 'published rows of the outbox could not be removed'),
        }),
    },
  ];
}

/** What the lane does on its own: expiry and the outbox, under its background permits (contract 3). */
export function backgroundProviders(host: Host, observer: BackgroundObserver, limits: BackgroundLimits): Provider[] {
  return [...expiryProviders(host, observer, limits.expiry), ...outboxProviders(host, observer, limits.outbox)];
}
