import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LANES } from '../../../config/lanes';
import { auditAuthorizations, type AuditResult } from '../../support/audit';
import type { PlanFile } from '../../load/plan-file';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import type { Installation } from '../../support/installation';
import { rounded } from '../../support/statistics';
import { type AnswerRow, readAnswerLog } from '../harness/answer-log';
import { type LaneSample, LaneWatch } from '../harness/lane-watch';
import { type DrillLoadResult, startLoad } from '../harness/load-process';
import { type Caller, type DrilledSystem, startOn } from '../harness/system';
import { CARDS, cut, firstTryShare, type Latencies, type PhaseAnswers } from '../recovery/cut';
import type { Phase } from '../recovery/schedule';
import type { Composition } from './compositions';

const LOOK_EVERY_MS = 250;
const WELL_MS = 10;
const SLOW_BEFORE_MS = 300;
/** What waits in a composition without isolation is in flight, at its worst all of it. */
const IN_FLIGHT_MAX = 10_000;
/** Index of the plan's target, beside those of `cut.ts`. */
const EVALUATIONS = 2;
/** Below it a lane counts as harmed (contract 14). */
const UNHARMED_SHARE = 0.999;

export interface Shape {
  readonly cardsPerS: number;
  readonly quotesPerS: number;
  /** Of the fraud lane, which has as little to do with taxes as the cards have. */
  readonly evaluationsPerS: number;
  readonly latencyMs: number;
  readonly warmupS: number;
  readonly quietS: number;
  readonly brownoutS: number;
  readonly lagP99MsMax: number;
}

export interface PhaseFigures {
  readonly cards: Latencies | null;
  /** Answered 2xx at first try, of those that were due. */
  readonly succeededShare: number;
  /** The same of the evaluations of the fraud lane; 202 is an answer of that lane too. */
  readonly evaluationsShare: number;
}

export interface ComparisonRun {
  readonly composition: string;
  readonly quiet: PhaseFigures;
  readonly brownout: PhaseFigures;
  /** Answers to cards in the brownout, by status or problem code. */
  readonly cardAnswers: Readonly<Record<string, number>>;
  /** Lanes whose callers notice that the tax provider is slow. */
  readonly harmedLanes: readonly string[];
  /** The most that the process of the cards took, in the whole run, and the processes of all lanes together. */
  readonly rssMiBMax: number;
  readonly rssAllLanesMiBMax: number;
  /** Of the bulkhead and the pool that the cards go through. */
  readonly permits: number;
  readonly permitsInUseMax: number;
  readonly connections: number;
  readonly connectionsInUseMax: number;
  readonly voidReason: string | null;
  readonly audit: AuditResult;
}

/** The same load on one composition: cards alone, then cards beside a brownout. */
export async function runComposition(
  composition: Composition,
  providerUrl: string,
  shape: Shape,
  installation: Installation,
  closing: Closing,
): Promise<ComparisonRun> {
  closing.check();
  const options = composition.options(installation.adminUrl);
  const system = await startOn(installation, providerUrl, composition.topology, closing, options);
  const watch = new LaneWatch(system.urlOf);
  try {
    await system.provider.set({ latency_ms: WELL_MS });
    await checkpoint(installation.adminUrl);
    watch.every(LOOK_EVERY_MS);
    const cards = await system.caller('cards', ['authorizations']);
    const plan = planOf(system, shape, {
      cards,
      quotes: await system.caller('tax', ['tax']),
      evaluations: await system.caller('fraud', ['fraud']),
    });
    const running = await startLoad(plan, cards.subject, system.folder, closing);
    const slowAtMs = running.startedAtMs + shape.quietS * 1_000 - SLOW_BEFORE_MS;
    await sleep(Math.max(0, slowAtMs - Date.now()), undefined, { signal: closing.signal });
    await system.provider.set({ latency_ms: shape.latencyMs });
    const { result, logFile, auditFile } = await running.finish();
    await watch.stop();
    const rows = [...readAnswerLog(logFile)];
    const audit = await auditAuthorizations(system.adminUrl, cards.subject, auditFile);
    for (const file of [logFile, auditFile]) rmSync(file, { force: true });
    const looks = watch.samples.authorization;
    const figures = phaseFigures(rows, result, shape, running.startedAtMs);
    return {
      composition: composition.name,
      ...figures,
      cardAnswers: countAnswers(rows, result.codes, running.startedAtMs + shape.quietS * 1_000),
      harmedLanes: harmedLanes(figures.brownout),
      rssMiBMax: Math.round(most(looks, ({ rssMiB }) => rssMiB)),
      rssAllLanesMiBMax: rssOfAllLanes(system, watch),
      permits: watch.last('authorization').permits,
      permitsInUseMax: most(looks, ({ inUse }) => inUse),
      connections: watch.last('authorization').poolSize,
      connectionsInUseMax: most(looks, ({ poolBusy }) => poolBusy),
      voidReason: result.voidReason,
      audit,
    };
  } finally {
    await watch.stop();
    await system.provider.set({ latency_ms: WELL_MS });
    await system.stop();
  }
}

interface Callers {
  readonly cards: Caller;
  readonly quotes: Caller;
  readonly evaluations: Caller;
}

function planOf(system: DrilledSystem, shape: Shape, { cards, quotes, evaluations }: Callers): PlanFile {
  const { warmupS, lagP99MsMax, cardsPerS, quotesPerS, evaluationsPerS, quietS, brownoutS } = shape;
  const throughout = { durationS: quietS + brownoutS, inFlightMax: IN_FLIGHT_MAX };
  const authorizations = {
    name: 'authorizations',
    url: `${system.urlOf('authorization')}/v1/authorizations`,
    token: cards.token,
    rate: cardsPerS,
    ...throughout,
  };
  const tax = {
    name: 'tax-quotes',
    url: `${system.urlOf('tax')}/v1/tax/quotes`,
    token: quotes.token,
    inFlightMax: IN_FLIGHT_MAX,
    stages: [
      { durationS: quietS, rate: 0 },
      { durationS: brownoutS, rate: quotesPerS },
    ],
  };
  const fraud = {
    name: 'fraud-evaluations',
    url: `${system.urlOf('fraud')}/v1/fraud/evaluations`,
    token: evaluations.token,
    rate: evaluationsPerS,
    ...throughout,
  };
  return { warmupS, lagP99MsMax, targets: [authorizations, tax, fraud] };
}

function phaseFigures(
  rows: readonly AnswerRow[],
  { codes, targets }: DrillLoadResult,
  { quietS, brownoutS }: Shape,
  startedAtMs: number,
): Pick<ComparisonRun, 'quiet' | 'brownout'> {
  const quietPhase: Phase = { kind: 'quiet', pair: 0, fromS: 0, toS: quietS };
  const brownoutPhase: Phase = { kind: 'brownout', pair: 0, fromS: quietS, toS: quietS + brownoutS };
  const cutRows = rows.filter(({ target }) => target !== EVALUATIONS);
  const [quiet, brownout] = cut(cutRows, codes, [quietPhase, brownoutPhase], startedAtMs).phases;
  // What has no answer is counted against the brownout, wherever it was due.
  const unansweredOf = (target: number): number => (targets[target]?.unknown ?? 0) + (targets[target]?.notSent ?? 0);
  const figuresOf = (
    answers: PhaseAnswers | undefined,
    { fromS, toS }: Phase,
    unanswered: typeof unansweredOf,
  ): PhaseFigures => {
    const evaluations = rows.filter(({ target, dueMs }) => {
      const second = (dueMs - startedAtMs) / 1_000;
      return target === EVALUATIONS && second >= fromS && second < toS;
    });
    const evaluated = evaluations.filter(({ status }) => status < 300).length;
    const evaluationsDue = evaluations.length + unanswered(EVALUATIONS);
    return {
      cards: answers?.cards ?? null,
      succeededShare: rounded(firstTryShare(answers, unanswered(CARDS)), 5),
      evaluationsShare: evaluationsDue === 0 ? 0 : rounded(evaluated / evaluationsDue, 5),
    };
  };
  return {
    quiet: figuresOf(quiet, quietPhase, () => 0),
    brownout: figuresOf(brownout, brownoutPhase, unansweredOf),
  };
}

/** The lane whose provider is slow is always one of them. */
function harmedLanes({ succeededShare, evaluationsShare }: PhaseFigures): string[] {
  return [
    'tax',
    ...(succeededShare < UNHARMED_SHARE ? ['authorization'] : []),
    ...(evaluationsShare < UNHARMED_SHARE ? ['fraud'] : []),
  ];
}

/** The most of each process, together: they need not have had it at one moment. */
function rssOfAllLanes(system: DrilledSystem, watch: LaneWatch): number {
  const byProcess = new Map(
    LANES.map((lane) => [system.urlOf(lane), most(watch.samples[lane], (look) => look.rssMiB)]),
  );
  return Math.round([...byProcess.values()].reduce((sum, rssMiB) => sum + rssMiB, 0));
}

/** Cards that were due from a moment on, by status or problem code. */
function countAnswers(rows: readonly AnswerRow[], codes: readonly string[], fromMs: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { target, dueMs, status, code } of rows) {
    if (target !== CARDS || dueMs < fromMs) continue;
    const name = status < 300 ? String(status) : (codes[code] ?? String(status));
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function most(looks: readonly LaneSample[], value: (sample: LaneSample) => number): number {
  return looks.reduce((max, look) => Math.max(max, value(look)), 0);
}
