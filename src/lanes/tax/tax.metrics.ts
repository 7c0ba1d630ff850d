import { Counter, Gauge, Histogram } from 'prom-client';
import type { LaneHost } from '../lane-host';
import { FAILURES } from './provider/provider-failure';
import type { ProviderObserver } from './provider/provider-client';

/** What the lane's work tells as it happens. */
export interface TaxObserver extends ProviderObserver {
  /** A quote was answered that could not be stored (contract 4.8). */
  onUnstored(): void;
  onEstimate(outcome: 'served' | 'written' | 'known' | 'lost', count: number): void;
  /** Jurisdictions are those of the certified table, so their number is bounded. */
  onReconciled(jurisdiction: string, estimatedMinor: number, providerMinor: number): void;
  onGivenUp(jurisdiction: string): void;
  /** Whom to ask, when metrics are read, how many estimates are in memory only. */
  watchRing(size: () => number): void;
}

const CALL_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 5, 10];
/** Shares of the provider's tax; 0.005 is what the certificate promises of each rate. */
const DEVIATION_BUCKETS = [0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5];

export function observeTax({ metrics }: Pick<LaneHost, 'metrics'>): TaxObserver {
  const registers = [metrics.registry];
  const calls = new Histogram({
    name: 'tax_provider_call_seconds',
    help: 'Calls of the tax provider by how they ended, until their socket was free or closed',
    labelNames: ['outcome'],
    buckets: CALL_BUCKETS_SECONDS,
    registers,
  });
  for (const outcome of ['ok', ...FAILURES]) calls.zero({ outcome });
  const unstored = new Counter({
    name: 'tax_quotes_unstored_total',
    help: 'Quotes that were answered and could not be stored',
    registers,
  });
  const estimates = new Counter({
    name: 'tax_estimates_total',
    help: 'Estimates: served; written for reconciliation; written before; lost, from memory or to another order under their key',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['served', 'written', 'known', 'lost']) estimates.inc({ outcome }, 0);
  const deviation = new Histogram({
    name: 'tax_reconciliation_deviation_ratio',
    help: 'How far estimates were from the provider’s tax, as a share of it',
    labelNames: ['jurisdiction'],
    buckets: DEVIATION_BUCKETS,
    registers,
  });
  const givenUp = new Counter({
    name: 'tax_reconciliation_failed_total',
    help: 'Estimates of orders that the provider does not answer',
    labelNames: ['jurisdiction'],
    registers,
  });
  return {
    onCall: (outcome, elapsedMs) => calls.observe({ outcome }, elapsedMs / 1_000),
    onUnstored: () => unstored.inc(),
    onEstimate: (outcome, count) => estimates.inc({ outcome }, count),
    onReconciled: (jurisdiction, estimatedMinor, providerMinor) =>
      deviation.observe({ jurisdiction }, Math.abs(providerMinor - estimatedMinor) / Math.max(1, providerMinor)),
    onGivenUp: (jurisdiction) => givenUp.inc({ jurisdiction }),
    watchRing: (size) => {
      new Gauge({
        name: 'tax_estimates_in_memory',
        help: 'Estimates that are not in the database yet; a crash would lose them',
        registers,
        collect() {
          this.set(size());
        },
      });
    },
  };
}
