import { Counter, Histogram } from 'prom-client';
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
