import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AlertName } from './alerts';
import { ALERTS } from './alerts';
import type { BulkheadView, PoolView } from './lane-registry';

/** Why an execution did not end with its own answer (contract 4.9); each is counted once. */
export const REJECTION_REASONS = [
  'full',
  'queue_timeout',
  'client_abort',
  'draining',
  'retry_storm',
  'pool_exhausted',
  'overflow_failed',
  'execution_timeout',
] as const;
export type RejectionReason = (typeof REJECTION_REASONS)[number];

const STATES = ['NORMAL', 'SATURATED', 'RECOVERING'] as const;

/** From a refusal's tenth of a millisecond to an execution that nothing stopped. */
export const DURATION_BUCKETS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

interface BoundHistogram {
  observe(value: number): void;
}
interface BoundCounter {
  inc(value?: number): void;
}

/**
 * One bulkhead's metrics, labels bound beforehand so that an observation costs well below a microsecond. It has the shape of the engine's
 * observer, so the engine can be given it as it is.
 */
export class BulkheadMetrics {
  readonly #queueWait: BoundHistogram;
  readonly #execution: BoundHistogram;
  readonly #shed: BoundHistogram;
  readonly #rejections: Readonly<Record<RejectionReason, BoundCounter>>;
  readonly #backgroundRefusals: BoundCounter;
  readonly #violations: BoundCounter;
  readonly #transitions: Readonly<Record<(typeof STATES)[number], BoundCounter>>;

  constructor(
    readonly bulkhead: string,
    metrics: MetricSet,
  ) {
    this.#queueWait = metrics.queueWait.labels(bulkhead);
    this.#execution = metrics.execution.labels(bulkhead);
    this.#shed = metrics.shed.labels(bulkhead);
    this.#rejections = zeroed(REJECTION_REASONS, (reason) => metrics.rejections.labels(bulkhead, reason));
    this.#backgroundRefusals = metrics.backgroundRefusals.labels(bulkhead);
    this.#violations = metrics.violations.labels(bulkhead);
    this.#transitions = zeroed(STATES, (state) => metrics.transitions.labels(bulkhead, state));
    this.#backgroundRefusals.inc(0);
    this.#violations.inc(0);
  }

  onAdmitted(queueWaitMs: number): void {
    this.#queueWait.observe(queueWaitMs / 1_000);
  }

  onRefused(reason: RejectionReason, background = false): void {
    if (background) this.#backgroundRefusals.inc();
    else this.#rejections[reason].inc();
  }

  onExecutionTimeout(): void {
    this.#rejections.execution_timeout.inc();
  }

  onClientAbort(): void {
    this.#rejections.client_abort.inc();
  }

  onReleased(executionMs: number): void {
    this.#execution.observe(executionMs / 1_000);
  }

  onStateChanged(_from: string, to: (typeof STATES)[number]): void {
    this.#transitions[to].inc();
  }

  onReleaseViolation(): void {
    this.#violations.inc();
  }

  /** For outcomes that the engine does not see: what the edge refuses, and work that found no connection. */
  rejected(reason: RejectionReason): void {
    this.#rejections[reason].inc();
  }

  /** From the request read to its refusal written. */
  shed(shedMs: number): void {
    this.#shed.observe(shedMs / 1_000);
  }
}

function zeroed<Label extends string>(
  labels: readonly Label[],
  bind: (label: Label) => BoundCounter,
): Readonly<Record<Label, BoundCounter>> {
  const bound = Object.fromEntries(labels.map((label) => [label, bind(label)])) as Record<Label, BoundCounter>;
  // A series that appears with its first event hides that event from rate().
  for (const label of labels) bound[label].inc(0);
  return bound;
}

/** One datasource's counters. */
export class DatasourceMetrics {
  readonly #leaks: BoundCounter;
  readonly #lost: BoundCounter;
  readonly #openFailures: BoundCounter;

  constructor(datasource: string, metrics: MetricSet) {
    this.#leaks = metrics.leaks.labels(datasource);
    this.#lost = metrics.lost.labels(datasource);
    this.#openFailures = metrics.openFailures.labels(datasource);
    for (const counter of [this.#leaks, this.#lost, this.#openFailures]) counter.inc(0);
  }

  leaked(): void {
    this.#leaks.inc();
  }

  connectionLost(): void {
    this.#lost.inc();
  }

  openFailed(): void {
    this.#openFailures.inc();
  }
}

type MetricSet = ReturnType<typeof createMetrics>;

function createMetrics(registry: Registry) {
  const registers = [registry];
  const buckets = DURATION_BUCKETS_SECONDS;
  const bulkhead = ['bulkhead'] as const;
  const datasource = ['datasource'] as const;
  const histogram = (name: string, help: string): Histogram<'bulkhead'> =>
    new Histogram({ name, help, labelNames: bulkhead, buckets, registers });
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers });
  return {
    queueWait: histogram('bulkhead_queue_wait_seconds', 'Wait for a permit of executions that got one'),
    execution: histogram('bulkhead_execution_seconds', 'Time for which a permit was in use, zombie time included'),
    shed: histogram('bulkhead_shed_seconds', 'From a request read to its refusal written'),
    rejections: counter('bulkhead_rejection_total', 'Executions without an answer of their own', [
      'bulkhead',
      'reason',
    ] as const),
    backgroundRefusals: counter('bulkhead_background_refusal_total', 'Permits refused to the own workers', bulkhead),
    violations: counter('bulkhead_release_violations_total', 'Second releases of a permit, ignored', bulkhead),
    transitions: counter('bulkhead_state_changes_total', 'Entries into a state', ['bulkhead', 'state'] as const),
    leaks: counter('datasource_leaks_total', 'Connections held longer than 2 s', datasource),
    lost: counter('datasource_connections_lost_total', 'Connections that went without being asked to', datasource),
    openFailures: counter('datasource_open_failures_total', 'Connections that could not be opened', datasource),
  };
}

/** All `bulkhead_*` and `datasource_*` metrics of the process, and its alert counter (contract 13). */
export class LaneMetrics {
  readonly registry: Registry;
  readonly #metrics: MetricSet;
  readonly #alerts: Counter<'alert'>;
  readonly #bulkheads = new Map<string, BulkheadMetrics>();
  readonly #datasources = new Map<string, DatasourceMetrics>();
  /** Gauges read these when they are scraped. */
  #bulkheadViews: () => readonly BulkheadView[] = () => [];
  #poolViews: () => readonly PoolView[] = () => [];

  constructor(registry: Registry) {
    this.registry = registry;
    this.#metrics = createMetrics(registry);
    this.#alerts = new Counter({
      name: 'alerts_total',
      help: 'Alerts raised',
      labelNames: ['alert'],
      registers: [registry],
    });
    for (const alert of ALERTS) this.#alerts.inc({ alert }, 0);
    this.#bulkheadGauges();
    this.#poolGauge();
  }

  bulkhead(name: string): BulkheadMetrics {
    const known = this.#bulkheads.get(name) ?? new BulkheadMetrics(name, this.#metrics);
    this.#bulkheads.set(name, known);
    return known;
  }

  datasource(name: string): DatasourceMetrics {
    const known = this.#datasources.get(name) ?? new DatasourceMetrics(name, this.#metrics);
    this.#datasources.set(name, known);
    return known;
  }

  /** For the AlertBoard. */
  readonly countAlert = (alert: AlertName): void => this.#alerts.inc({ alert });

  /** Where the gauges look, once the lanes are registered. */
  watch(bulkheads: () => readonly BulkheadView[], pools: () => readonly PoolView[]): void {
    this.#bulkheadViews = bulkheads;
    this.#poolViews = pools;
  }

  #bulkheadGauges(): void {
    const gauge = (name: string, help: string, value: (view: BulkheadView) => number): void => {
      const views = (): readonly BulkheadView[] => this.#bulkheadViews();
      new Gauge({
        name,
        help,
        labelNames: ['bulkhead'],
        registers: [this.registry],
        collect() {
          for (const view of views()) this.set({ bulkhead: view.name }, value(view));
        },
      });
    };
    gauge('bulkhead_threads_active', 'Permits in use, zombies included', (view) => view.inUse);
    gauge('bulkhead_threads_max', 'Permits', (view) => view.permits);
    gauge('bulkhead_queue_depth', 'Executions that wait for a permit', (view) => view.queued);
    gauge('bulkhead_zombies', 'Executions past their limit whose work has not ended', (view) => view.zombies);
    gauge('bulkhead_background_active', 'Permits held by the own workers', (view) => view.background);
    gauge('bulkhead_pressure', '1 from 80 % in use of a lane in NORMAL', (view) => (view.pressure ? 1 : 0));
    const views = (): readonly BulkheadView[] => this.#bulkheadViews();
    new Gauge({
      name: 'bulkhead_state',
      help: '1 for the state that the bulkhead is in, 0 for the others',
      labelNames: ['bulkhead', 'state'],
      registers: [this.registry],
      collect() {
        for (const { name, state } of views()) {
          for (const each of STATES) this.set({ bulkhead: name, state: each }, each === state ? 1 : 0);
        }
      },
    });
  }

  #poolGauge(): void {
    const views = (): readonly PoolView[] => this.#poolViews();
    new Gauge({
      name: 'datasource_connections',
      help: 'Connections by kind; waiting counts callers without one',
      labelNames: ['datasource', 'kind'],
      registers: [this.registry],
      collect() {
        for (const { datasource, size, open, idle, busy, waiting } of views()) {
          const kinds = { max: size, open, idle, busy, waiting };
          for (const [kind, value] of Object.entries(kinds)) this.set({ datasource, kind }, value);
        }
      },
    });
  }
}
