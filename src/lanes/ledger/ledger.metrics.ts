import { Counter, Gauge, Histogram } from 'prom-client';
import { ErrorThrottle } from '../../platform/queue/error-throttle';
import type { LaneHost } from '../lane-host';
import type { BufferObserver } from './buffer/ledger-buffer';
import { ITEM_CODES, type ItemCode, type ItemOutcome } from './ledger';
import type { WriteFailure } from './write/write-failure';

const TRIGGERS = ['size', 'time', 'drain'] as const;
const OUTCOMES = ['committed', 'duplicate', 'failed'] as const;

/** What the lane's own work tells as it happens. */
export interface LedgerObserver extends Required<BufferObserver> {
  /** Items refused before they came to the buffer. */
  readonly onFormFaults: (count: number) => void;
  /** From a request's admission to the last outcome of its items. */
  readonly onWritten: (elapsedMs: number) => void;
  /** A statement has gone to the database: what the round trips saved are counted by. */
  onStatement(): void;
  onWriteFailure(failure: WriteFailure, error: unknown): void;
  onPoison(code: ItemCode, error: unknown): void;
  onRollUpFailed(error: unknown): void;
  onGenerationsFailed(error: unknown): void;
  /** Whom to ask, when metrics are read, how many items have an unknown outcome. */
  watchItems(items: () => number): void;
}

/** Figures of contract 13. Items pass by the ten thousand a second, so they are counted in plain numbers, read when asked. */
export function observeLedger({ metrics, log }: Pick<LaneHost, 'metrics' | 'log'>, bulkhead: string): LedgerObserver {
  const registers = [metrics.registry];
  const flushSeconds = new Histogram({
    name: 'ledger_flush_seconds',
    help: 'From a flush that leaves to its end',
    buckets: [0.001, 0.0025, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.018, 0.025, 0.04, 0.08, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const writeSeconds = new Histogram({
    name: 'ledger_write_seconds',
    help: 'From the admission of a request to the last outcome of its items',
    buckets: [0.005, 0.01, 0.02, 0.025, 0.03, 0.034, 0.038, 0.045, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const flushSize = new Histogram({
    name: 'ledger_flush_size',
    help: 'Rows of a flush',
    buckets: [1, 2, 5, 10, 25, 50, 100, 200, 300, 400, 499, 500],
    registers,
  });
  const flushes = new Counter({
    name: 'ledger_flush_total',
    help: 'Flushes, by what made them leave',
    labelNames: ['trigger'],
    registers,
  });
  for (const trigger of TRIGGERS) flushes.inc({ trigger }, 0);
  const statements = new Counter({
    name: 'ledger_statements_total',
    help: 'Statements of ingest that went to the database',
    registers,
  });
  const items = countItems(metrics);
  const failures = observeFailures({ metrics, log });
  const permits = metrics.bulkhead(bulkhead);
  return {
    ...failures,
    onFlush: (rows, trigger) => {
      flushSize.observe(rows);
      flushes.inc({ trigger });
    },
    onWritten: (elapsedMs) => writeSeconds.observe(elapsedMs / 1_000),
    onFlushed: (elapsedMs) => flushSeconds.observe(elapsedMs / 1_000),
    onOutcome: (outcome) => items.answered(outcome),
    onFormFaults: (count) => items.refused(count),
    onStatement: () => statements.inc(),
    onStateChanged: (from, to) => {
      permits.onStateChanged(from, to);
      log.info({ lane: 'ledger', bulkhead, from, to }, `${bulkhead} is ${to}`);
    },
    watchItems: (count) => {
      new Gauge({
        name: 'ledger_buffer_items',
        help: 'Items whose outcome is not known, in flight included',
        registers,
        collect() {
          this.set(count());
        },
      });
    },
  };
}

function countItems({ registry }: LaneHost['metrics']): {
  answered(outcome: ItemOutcome): void;
  refused(count: number): void;
} {
  const counts: Record<(typeof OUTCOMES)[number], number> = { committed: 0, duplicate: 0, failed: 0 };
  const codes = Object.fromEntries(ITEM_CODES.map((code) => [code, 0])) as Record<ItemCode, number>;
  new Counter({
    name: 'ledger_items_total',
    help: 'Items answered',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const outcome of OUTCOMES) this.inc({ outcome }, counts[outcome]);
    },
  });
  new Counter({
    name: 'ledger_item_failures_total',
    help: 'Items that the journal refused or could not take, by code; faults of form are in ledger_items_total only',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      this.reset();
      for (const code of ITEM_CODES) this.inc({ code }, codes[code]);
    },
  });
  return {
    answered: (outcome) => {
      if (outcome.status === 'COMMITTED') {
        counts[outcome.duplicate ? 'duplicate' : 'committed'] += 1;
      } else {
        counts.failed += 1;
        codes[outcome.code] += 1;
      }
    },
    refused: (count) => {
      counts.failed += count;
    },
  };
}

function observeFailures({
  metrics,
  log,
}: Pick<LaneHost, 'metrics' | 'log'>): Pick<
  LedgerObserver,
  'onWriteFailure' | 'onPoison' | 'onRollUpFailed' | 'onGenerationsFailed'
> {
  const registers = [metrics.registry];
  const writes = new Counter({
    name: 'ledger_write_failures_total',
    help: 'Statements of ingest that failed',
    labelNames: ['failure'],
    registers,
  });
  const poison = new Counter({
    name: 'ledger_poisoned_items_total',
    help: 'Rows that PostgreSQL refused although validation had let them pass',
    registers,
  });
  const throttle = new ErrorThrottle();
  const tell = (fields: object, error: unknown, message: string): void => {
    const known = error instanceof Error ? error : new Error(String(error));
    if (throttle.admits(known)) log.warn({ lane: 'ledger', ...fields, err: known }, message);
  };
  return {
    onWriteFailure: (failure, error) => {
      writes.inc({ failure });
      tell({ failure }, error, 'a flush could not be written');
    },
    onPoison: (code, error) => {
      poison.inc();
      tell({ code }, error, 'an item reached the database that validation should have refused');
    },
    onRollUpFailed: (error) => tell({}, error, 'balances could not be rolled up; it is tried again'),
    onGenerationsFailed: (error) => tell({}, error, 'the journal’s generations could not be kept; it is tried again'),
  };
}
