import { Counter, Gauge, Histogram } from 'prom-client';
import type { LaneHost } from '../../lane-host';
import type { OverflowOutcome } from './overflow-job';

/** What became of a request that found the lane full. */
export type Acceptance = 'added' | 'repeated' | 'full' | 'unavailable';

/** What the overflow tells as it happens. */
export interface OverflowObserver {
  onAccepted(acceptance: Acceptance, elapsedMs: number): void;
  onFinished(outcome: OverflowOutcome, ageMs: number): void;
  /** Nulls where the queue could not be asked. */
  onLooked(waiting: number | null, oldestAgeMs: number | null): void;
}

export function observeOverflow({ metrics, log }: Pick<LaneHost, 'metrics' | 'log'>): OverflowObserver {
  const registers = [metrics.registry];
  const acceptances = new Counter({
    name: 'fraud_overflow_requests_total',
    help: 'Requests that found the lane full, by what the overflow made of them',
    labelNames: ['acceptance'],
    registers,
  });
  const enqueue = new Histogram({
    name: 'fraud_overflow_enqueue_seconds',
    help: 'How long the overflow took to accept or refuse a request',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1],
    registers,
  });
  const finished = new Counter({
    name: 'fraud_overflow_finished_total',
    help: 'Jobs of the overflow with a result, by where it came from',
    labelNames: ['outcome'],
    registers,
  });
  const age = new Histogram({
    name: 'fraud_overflow_age_seconds',
    help: 'From the acceptance of an evaluation to its result',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900, 1_800],
    registers,
  });
  const waitingGauge = new Gauge({
    name: 'fraud_overflow_waiting',
    help: 'Jobs that no worker has begun, of the whole queue and the same in every process; NaN while Redis is away',
    registers,
  });
  const oldestGauge = new Gauge({
    name: 'fraud_overflow_oldest_age_seconds',
    help: 'Age of the oldest job at the head of a list of the queue, 0 for none; NaN while Redis is away',
    registers,
  });
  waitingGauge.set(NaN);
  oldestGauge.set(NaN);
  // A series that appears with its first event hides that event from rate().
  for (const acceptance of ['added', 'repeated', 'full', 'unavailable']) acceptances.inc({ acceptance }, 0);
  for (const outcome of ['evaluated', 'found', 'expired', 'key_reused']) finished.inc({ outcome }, 0);
  return {
    onAccepted: (acceptance, elapsedMs) => {
      acceptances.inc({ acceptance });
      enqueue.observe(elapsedMs / 1_000);
    },
    onFinished: (outcome, ageMs) => {
      finished.inc({ outcome });
      age.observe(ageMs / 1_000);
      if (outcome === 'key_reused') {
        log.warn({ lane: 'fraud' }, 'a queued evaluation has no result: its key was used for another payload since');
      }
    },
    onLooked: (waiting, oldestAgeMs) => {
      waitingGauge.set(waiting ?? NaN);
      oldestGauge.set(oldestAgeMs === null ? NaN : oldestAgeMs / 1_000);
    },
  };
}
