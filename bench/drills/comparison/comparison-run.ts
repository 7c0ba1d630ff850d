import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditAuthorizations, type AuditResult } from '../../support/audit';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import type { Installation } from '../../support/installation';
import { rounded } from '../../support/statistics';
import { readAnswerLog } from '../harness/answer-log';
import { LaneWatch } from '../harness/lane-watch';
import { startLoad } from '../harness/load-process';
import { startOn } from '../harness/system';
import { CARDS, cut, type Latencies } from '../recovery/cut';
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
  try {
    await system.provider.set({ latency_ms: WELL_MS });
    await checkpoint(installation.adminUrl);
    const watch = new LaneWatch(system.urlOf, ['authorization', 'tax']);
    watch.every(LOOK_EVERY_MS);
    const { quietS, brownoutS } = shape;
    const phases: Phase[] = [
      { kind: 'quiet', pair: 0, fromS: 0, toS: quietS },
      { kind: 'brownout', pair: 0, fromS: quietS, toS: quietS + brownoutS },
    ];
    const cards = await system.caller('cards', ['authorizations']);
    const quotes = await system.caller('tax', ['tax']);
    const plan = {
      warmupS: shape.warmupS,
      lagP99MsMax: shape.lagP99MsMax,
      targets: [
        {
          name: 'authorizations',
          url: `${system.urlOf('authorization')}/v1/authorizations`,
          token: cards.token,
          rate: shape.cardsPerS,
          durationS: quietS + brownoutS,
          inFlightMax: IN_FLIGHT_MAX,
        },
        {
          name: 'tax-quotes',
          url: `${system.urlOf('tax')}/v1/tax/quotes`,
          token: quotes.token,
          inFlightMax: IN_FLIGHT_MAX,
          stages: [
            { durationS: quietS, rate: 0 },
            { durationS: brownoutS, rate: shape.quotesPerS },
          ],
        },
      ],
    };
    const running = await startLoad(plan, cards.subject, installation.folder, closing);
    const slowAtMs = running.startedAtMs + quietS * 1_000 - SLOW_BEFORE_MS;
    await sleep(Math.max(0, slowAtMs - Date.now()), undefined, { signal: closing.signal });
    await system.provider.set({ latency_ms: shape.latencyMs });
    const { result, logFile, auditFile } = await running.finish();
    await watch.stop();
    const rows = [...readAnswerLog(logFile)];
    const answers = cut(rows, result.codes, phases, running.startedAtMs);
    const figuresOf = (index: number): PhaseFigures => {
      const found = answers.phases[index];
      const due = shape.cardsPerS * (index === 0 ? quietS : brownoutS);
      return {
        cards: found?.cards ?? null,
        succeededShare: rounded((found?.cardsFirstTry ?? 0) / due, 5),
      };
    };
    const cardAnswers: Record<string, number> = {};
    for (const { target, dueMs, status, code } of rows) {
      if (target !== CARDS || dueMs < running.startedAtMs + quietS * 1_000) continue;
      const name = status < 300 ? String(status) : (result.codes[code] ?? String(status));
      cardAnswers[name] = (cardAnswers[name] ?? 0) + 1;
    }
    const audit = await auditAuthorizations(installation.adminUrl, cards.subject, auditFile);
    for (const file of [logFile, auditFile]) rmSync(file, { force: true });
    const seen = watch.samples.authorization;
    const most = (value: (sample: (typeof seen)[number]) => number): number => Math.max(0, ...seen.map(value));
    return {
      composition: composition.name,
      quiet: figuresOf(0),
      brownout: figuresOf(1),
      cardAnswers,
      rssMiBMax: Math.round(most(({ rssMiB }) => rssMiB)),
      permitsInUseMax: most(({ inUse }) => inUse),
      connectionsInUseMax: most(({ poolBusy }) => poolBusy),
      voidReason: result.voidReason,
      audit,
    };
  } finally {
    await system.provider.set({ latency_ms: WELL_MS });
    await system.stop();
  }
}
