import type { AlertBoard } from './alerts';
import type { DatabaseObserver } from './database/lane-database';
import type { BulkheadMetrics, DatasourceMetrics } from './lane-metrics';
import type { Log } from './log';

/** What a bulkhead's events are told to, beside its metrics. */
export interface BulkheadListeners {
  readonly lane: string;
  readonly alerts: AlertBoard;
  readonly log: Log;
  /** Half of the permits or more are old zombies: a one-lane process ends itself here (contract 6). */
  readonly onStuck?: (zombies: number) => void;
}

type States = 'NORMAL' | 'SATURATED' | 'RECOVERING';

/** Every event of the engine's observer; the engine takes an object of this shape. */
export interface ObservedBulkhead extends Pick<
  BulkheadMetrics,
  | 'onAdmitted'
  | 'onRefused'
  | 'onExecutionTimeout'
  | 'onClientAbort'
  | 'onReleased'
  | 'onStateChanged'
  | 'onReleaseViolation'
> {
  onZombieAlert(zombies: number): void;
  onZombiesHalf(zombies: number): void;
}

/** The engine's observer: metrics for everything, a line for what an operator would ask about, alerts for the rest. */
export function observeBulkhead(metrics: BulkheadMetrics, listeners: BulkheadListeners): ObservedBulkhead {
  const { lane, alerts, log, onStuck } = listeners;
  const { bulkhead } = metrics;
  return {
    onAdmitted: (queueWaitMs: number) => metrics.onAdmitted(queueWaitMs),
    onRefused: (reason: Parameters<BulkheadMetrics['onRefused']>[0], background: boolean) =>
      metrics.onRefused(reason, background),
    onExecutionTimeout: () => metrics.onExecutionTimeout(),
    onClientAbort: () => metrics.onClientAbort(),
    onReleased: (executionMs: number) => metrics.onReleased(executionMs),
    onStateChanged: (from: States, to: States) => {
      metrics.onStateChanged(from, to);
      log.info({ lane, bulkhead, from, to }, `${bulkhead} is ${to}`);
    },
    onReleaseViolation: () => {
      metrics.onReleaseViolation();
      log.warn({ lane, bulkhead }, 'a permit was released twice');
    },
    onZombieAlert: (zombies: number) =>
      alerts.raise('ALERT_BULKHEAD_ZOMBIE', `${bulkhead}: work has not ended 30 s after its limit`, {
        key: bulkhead,
        lane,
        zombies,
      }),
    onZombiesHalf: (zombies: number) => {
      alerts.raise(
        'ALERT_BULKHEAD_STUCK',
        `${bulkhead}: half of the permits or more are held by work that never ends`,
        {
          key: bulkhead,
          lane,
          zombies,
        },
      );
      onStuck?.(zombies);
    },
  };
}

/** A pool's observer: counters, and a line with the taker's stack for each leak [DEC-BH-01]. */
export function observeDatabase(
  datasource: string,
  metrics: DatasourceMetrics,
  listeners: { readonly lane: string; readonly log: Log },
): DatabaseObserver {
  const { lane, log } = listeners;
  return {
    onHeldTooLong: (heldMs, takenBy) => {
      metrics.leaked();
      const fields = { lane, datasource, held_ms: Math.round(heldMs), taken_by: takenBy };
      log.warn(fields, 'a database connection is held too long');
    },
    onConnectionLost: (error) => {
      metrics.connectionLost();
      log.warn({ lane, datasource, err: error }, 'a database connection was lost');
    },
    onOpenFailed: (error) => {
      metrics.openFailed();
      log.warn({ lane, datasource, err: error }, 'a database connection could not be opened; trying again');
    },
  };
}
