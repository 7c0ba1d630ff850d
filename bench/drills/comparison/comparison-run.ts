import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditAuthorizations, type AuditResult } from '../../support/audit';
import type { PlanFile } from '../../load/plan-file';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import type { Installation } from '../../support/installation';
import { rounded } from '../../support/statistics';
import { type AnswerRow, readAnswerLog } from '../harness/answer-log';
import { type LaneSample, LaneWatch } from '../harness/lane-watch';
import { startLoad } from '../harness/load-process';
import { type Caller, type DrilledSystem, startOn } from '../harness/system';
import { CARDS, cut, type Latencies, type PhaseAnswers } from '../recovery/cut';
import type { Phase } from '../recovery/schedule';
import type { Composition } from './compositions';

const LOOK_EVERY_MS = 250;
const WELL_MS = 10;
const SLOW_BEFORE_MS = 300;
/** What waits in a composition without isolation is in flight, at its worst all of it. */
const IN_FLIGHT_MAX = 10_000;

export interface Shape {
  readonly cardsPerS: number;
  readonly quotesPerS: number;
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
}

export interface ComparisonRun {
  readonly composition: string;
  readonly quiet: PhaseFigures;
  readonly brownout: PhaseFigures;
  /** Answers to cards in the brownout, by status or problem code. */
  readonly cardAnswers: Readonly<Record<string, number>>;
  /** The most that the process of the cards took, in the whole run. */
  readonly rssMiBMax: number;
  readonly permitsInUseMax: number;
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
  const watch = new LaneWatch(system.urlOf, ['authorization']);
  try {
    await system.provider.set({ latency_ms: WELL_MS });
    await checkpoint(installation.adminUrl);
    watch.every(LOOK_EVERY_MS);
    const cards = await system.caller('cards', ['authorizations']);
    const plan = planOf(system, shape, cards, await system.caller('tax', ['tax']));
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
    return {
      composition: composition.name,
      ...phaseFigures(rows, result.codes, shape, running.startedAtMs),
      cardAnswers: countAnswers(rows, result.codes, running.startedAtMs + shape.quietS * 1_000),
      rssMiBMax: Math.round(most(looks, ({ rssMiB }) => rssMiB)),
      permitsInUseMax: most(looks, ({ inUse }) => inUse),
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

function planOf(system: DrilledSystem, shape: Shape, cards: Caller, quotes: Caller): PlanFile {
  const { warmupS, lagP99MsMax, cardsPerS, quotesPerS, quietS, brownoutS } = shape;
  const authorizations = {
    name: 'authorizations',
    url: `${system.urlOf('authorization')}/v1/authorizations`,
    token: cards.token,
    rate: cardsPerS,
    durationS: quietS + brownoutS,
    inFlightMax: IN_FLIGHT_MAX,
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
  return { warmupS, lagP99MsMax, targets: [authorizations, tax] };
}

function phaseFigures(
  rows: readonly AnswerRow[],
  codes: readonly string[],
  { cardsPerS, quietS, brownoutS }: Shape,
  startedAtMs: number,
): Pick<ComparisonRun, 'quiet' | 'brownout'> {
  const phases: Phase[] = [
    { kind: 'quiet', pair: 0, fromS: 0, toS: quietS },
    { kind: 'brownout', pair: 0, fromS: quietS, toS: quietS + brownoutS },
  ];
  const [quiet, brownout] = cut(rows, codes, phases, startedAtMs).phases;
  const figuresOf = (answers: PhaseAnswers | undefined, lengthS: number): PhaseFigures => ({
    cards: answers?.cards ?? null,
    succeededShare: rounded((answers?.cardsFirstTry ?? 0) / (cardsPerS * lengthS), 5),
  });
  return { quiet: figuresOf(quiet, quietS), brownout: figuresOf(brownout, brownoutS) };
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
