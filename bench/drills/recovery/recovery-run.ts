import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Lane, laneTable } from '../../../config/lanes';
import type { LatencyFigures } from '../../load/latency-histogram';
import type { PlanFile } from '../../load/plan-file';
import { type AuditResult, auditAuthorizations } from '../../support/audit';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import { readMetrics } from '../../support/metrics';
import { alertsBetween, grownBy, type Metrics, readAllMetrics, waitForPermits } from '../harness/aftermath';
import { type LaneConnections, readConnections } from '../harness/connections';
import { readAnswerLog } from '../harness/answer-log';
import { ExampleCallers, type ExampleCallersResult } from '../harness/example-callers';
import { type HistogramFigures, histogramBetween } from '../harness/histogram';
import { type LaneSamples, LaneWatch } from '../harness/lane-watch';
import { type DrillLoadResult, startLoad } from '../harness/load-process';
import type { Caller, DrilledSystem } from '../harness/system';
import type { Options } from './command';
import { type Cut, cut } from './cut';
import { type Phase, phasesOf, quoteStages } from './schedule';

const WELL_MS = 10;
/** Looks at the lanes: often enough for a curve, and more often while a recovery is timed. */
const LOOK_EVERY_MS = 250;
const LOOK_OFTEN_MS = 50;
/** The provider is slow before the first quote of a brownout asks it. */
const SLOW_BEFORE_MS = 300;
/** Everything that one run of the drill saw. */
export interface RecoveryRun {
  readonly topology: DrilledSystem['topology'];
  readonly phases: readonly Phase[];
  /** Of the measured time, on the wall clock. */
  readonly startedAtMs: number;
  readonly restoredAtMs: number;
  readonly load: DrillLoadResult;
  readonly cut: Cut;
  readonly samples: LaneSamples;
  readonly missedLooks: number;
  readonly shedServer: HistogramFigures | null;
  readonly connections: Readonly<Record<Lane, LaneConnections>>;
  readonly permitsOut: number;
  readonly releaseViolations: number;
  /** How often each alert was raised in the run. */
  readonly alerts: Readonly<Record<string, number>>;
  readonly audit: AuditResult;
  readonly exampleCallers: ExampleCallersResult;
  readonly generatorLagMs: LatencyFigures | null;
}

/** One load through all phases, the provider made slow and well again beside it. */
export async function runRecovery(system: DrilledSystem, options: Options, closing: Closing): Promise<RecoveryRun> {
  const phases = phasesOf(options.shape);
  const { provider } = system;
  await provider.set({ latency_ms: WELL_MS, mode: 'ok', error_rate: 0 });
  closing.add(
    'the provider’s faults',
    async () => void (await provider.set({ latency_ms: WELL_MS }).catch(() => null)),
  );
  const watch = new LaneWatch((lane) => system.urlOf(lane));
  closing.add('the watch over the lanes', () => watch.stop());
  const caller = await system.caller('cards', ['authorizations']);
  const plan = planOf(system, options, phases, caller, await system.caller('tax', ['tax']));
  await checkpoint(system.adminUrl);
  watch.every(LOOK_EVERY_MS);
  const metricsBefore = await readAllMetrics(system.urlOf);
  const running = await startLoad(plan, caller.subject, system.folder, closing);
  const examples = new ExampleCallers(system.urlOf('authorization'), caller);
  closing.add('the example callers', () => examples.stop());
  const acts = await actOut(phases, running.startedAtMs, system, options, watch, closing);
  const { result, logFile, auditFile } = await running.finish();
  const exampleCallers = await examples.stop();
  examples.appendTo(auditFile);
  const permitsOut = await waitForPermits(watch);
  const metricsAfter = await readAllMetrics(system.urlOf);
  await watch.stop();
  const audit = await auditAuthorizations(system.adminUrl, caller.subject, auditFile);
  const cutAnswers = cut(readAnswerLog(logFile), result.codes, phases, running.startedAtMs);
  for (const file of [logFile, auditFile]) rmSync(file, { force: true });
  const { name } = laneTable.tax.bulkhead;
  return {
    topology: system.topology,
    phases,
    startedAtMs: running.startedAtMs,
    restoredAtMs: acts.restoredAtMs,
    load: result,
    cut: cutAnswers,
    samples: watch.samples,
    missedLooks: watch.missed,
    shedServer: histogramBetween('bulkhead_shed_seconds', `bulkhead="${name}"`, acts.taxBefore, acts.taxAfter),
    connections: await readConnections(system.adminUrl, (lane) => watch.last(lane).poolSize),
    permitsOut,
    releaseViolations: grownBy('bulkhead_release_violations_total', metricsBefore, metricsAfter),
    alerts: alertsBetween(metricsBefore, metricsAfter),
    audit,
    exampleCallers,
    generatorLagMs: result.generator.lagMs,
  };
}

function planOf(
  system: DrilledSystem,
  options: Options,
  phases: readonly Phase[],
  cards: Caller,
  quotes: Caller,
): PlanFile {
  const { cardsPerS, quotesPerS, warmupS, lagP99MsMax } = options;
  const authorizations = {
    name: 'authorizations',
    url: `${system.urlOf('authorization')}/v1/authorizations`,
    token: cards.token,
    rate: cardsPerS,
    durationS: phases.at(-1)?.toS ?? 1,
    retries: true,
  };
  const tax = {
    name: 'tax-quotes',
    url: `${system.urlOf('tax')}/v1/tax/quotes`,
    token: quotes.token,
    stages: quoteStages(phases, quotesPerS),
  };
  return { warmupS, lagP99MsMax, targets: [authorizations, tax] };
}

interface Acts {
  readonly restoredAtMs: number;
  /** The tax process's own counters around the long brownout. */
  readonly taxBefore: Metrics;
  readonly taxAfter: Metrics;
}

/** What is done to the provider, phase after phase. */
async function actOut(
  phases: readonly Phase[],
  startedAtMs: number,
  { provider, urlOf }: DrilledSystem,
  { latencyMs }: Options,
  watch: LaneWatch,
  closing: Closing,
): Promise<Acts> {
  const until = async (second: number, plusMs = 0): Promise<void> => {
    const waitMs = startedAtMs + second * 1_000 + plusMs - Date.now();
    await sleep(Math.max(0, waitMs), undefined, { signal: closing.signal });
  };
  let taxBefore: Metrics = new Map();
  for (const { kind, pair, fromS, toS } of phases) {
    if (kind === 'brownout' || kind === 'main') {
      // It stays slow through the quiet phases after the first: nothing is reconciled beside them, and they are quiet.
      await until(fromS, -SLOW_BEFORE_MS);
      await provider.set({ latency_ms: latencyMs });
      console.log(kind === 'main' ? 'the long brownout begins' : `pair ${(pair ?? 0) + 1}: the brownout begins`);
    }
    if (kind === 'main') {
      taxBefore = await readMetrics(urlOf('tax'));
      await until(toS);
    }
  }
  const restoredAtMs = await provider.set({ latency_ms: WELL_MS });
  watch.every(LOOK_OFTEN_MS);
  console.log('the provider is well again');
  return { restoredAtMs, taxBefore, taxAfter: await readMetrics(urlOf('tax')) };
}
