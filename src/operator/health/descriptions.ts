import type { Alert } from '../../platform/alerts';
import type { BulkheadView, PoolView } from '../../platform/lane-registry';

/** A bulkhead in the words of the wire. */
export function describeBulkhead(view: BulkheadView): Record<string, unknown> {
  return {
    name: view.name,
    state: view.state,
    pressure: view.pressure,
    permits: view.permits,
    in_use: view.inUse,
    running: view.running,
    zombies: view.zombies,
    background: view.background,
    queued: view.queued,
    queue_max: view.queueMax,
    draining: view.draining,
    stuck: view.stuck,
  };
}

export function describePool({ datasource, size, open, idle, busy, waiting }: PoolView): Record<string, unknown> {
  return { datasource, size, open, idle, busy, waiting };
}

export function describeAlert({
  alert,
  key,
  detail,
  firstAt,
  lastAt,
  count,
  clearedAt,
}: Alert): Record<string, unknown> {
  return {
    alert,
    ...(key === '' ? {} : { key }),
    detail,
    first_at: firstAt.toISOString(),
    last_at: lastAt.toISOString(),
    count,
    cleared_at: clearedAt?.toISOString() ?? null,
  };
}
