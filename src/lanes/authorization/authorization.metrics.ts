import { Counter, Gauge, Histogram } from 'prom-client';
import type { LaneHost } from '../lane-host';
import type { GroupObserver } from './group-commit/group-observer';

/** Metrics of the group commit: how large groups get, how long their statements take, and why some failed. */
export function observeGroups({ metrics, log }: Pick<LaneHost, 'metrics' | 'log'>): GroupObserver {
  const registers = [metrics.registry];
  const size = new Histogram({
    name: 'authorization_group_size',
    help: 'Authorizations that share one statement and one commit',
    buckets: [1, 2, 4, 8, 16, 32, 64],
    registers,
  });
  const statement = new Histogram({
    name: 'authorization_group_seconds',
    help: 'Statements of groups, commit included',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const locked = new Counter({
    name: 'authorization_card_locked_total',
    help: 'Cards found locked by another session and left for a later group',
    registers,
  });
  const failures = new Counter({
    name: 'authorization_group_failures_total',
    help: 'Statements of groups that failed',
    labelNames: ['failure'],
    registers,
  });
  return {
    onGroup: (members) => size.observe(members),
    onStatement: (elapsedMs) => statement.observe(elapsedMs / 1_000),
    onCardLocked: () => locked.inc(),
    onFailure: (failure, error) => {
      failures.inc({ failure: failure });
      log.warn({ lane: 'authorization', failure, err: error }, 'a group of authorizations failed');
    },
  };
}

/** What the lane's own work tells as it happens. */
export interface BackgroundObserver {
  onMoved(kind: string): void;
  onExpired(count: number): void;
  onAnnouncementDropped(): void;
  onPublished(count: number): void;
  /** Whom to ask, when metrics are read, for how long the oldest row of the outbox has waited. */
  watchLag(lagMs: () => number): void;
}

export function observeBackground({ metrics }: Pick<LaneHost, 'metrics'>): BackgroundObserver {
  const registers = [metrics.registry];
  const moves = new Counter({
    name: 'authorization_moves_total',
    help: 'Captures, reversals and refunds that took effect',
    labelNames: ['move'],
    registers,
  });
  const expired = new Counter({
    name: 'authorization_expired_total',
    help: 'Authorizations of which expiry took what remained',
    registers,
  });
  const dropped = new Counter({
    name: 'authorization_expiry_announcements_dropped_total',
    help: 'Expiry jobs that Redis did not take; the sweep finds what they were for',
    registers,
  });
  const published = new Counter({
    name: 'authorization_outbox_published_total',
    help: 'Captures and refunds told to authorization-settlement, repeats included',
    registers,
  });
  return {
    onMoved: (move) => moves.inc({ move }),
    onExpired: (count) => expired.inc(count),
    onAnnouncementDropped: () => dropped.inc(),
    onPublished: (count) => published.inc(count),
    watchLag: (lagMs) => {
      new Gauge({
        name: 'authorization_outbox_lag_seconds',
        help: 'How long the oldest capture or refund has waited to be told to the ledger',
        registers,
        collect() {
          this.set(lagMs() / 1_000);
        },
      });
    },
  };
}
