import { rounded } from '../../support/statistics';
import { firstTryShare, fullShare, recoveryMs } from './cut';
import type { Measured } from './figures';
import type { RecoveryRun } from './recovery-run';

/** The run in the figures that are judged. */
export function measuredOf(run: RecoveryRun): Measured {
  const { load, cut, phases, samples, startedAtMs, restoredAtMs, shedServer, audit } = run;
  const [cards] = load.targets;
  const main = cut.phases.find(({ phase }) => phase.kind === 'main');
  const mainPhase = phases.find(({ kind }) => kind === 'main');
  if (cards === undefined || main === undefined || mainPhase === undefined) throw new Error('The run has no figures');
  const unanswered = cards.unknown + cards.notSent;
  const refused = main.quotesRefused;
  const [fromMs, toMs] = [startedAtMs + (mainPhase.fromS + 1) * 1_000, startedAtMs + mainPhase.toS * 1_000];
  const { refusalMs } = main;
  return {
    voidReason: load.voidReason,
    generatorLagP99Ms: load.generator.lagMs?.p99 ?? null,
    cards: {
      latencyMs: main.cards,
      firstTryShare: firstTryShare(main, unanswered),
      succeededShare: cards.succeededShare,
      answers5xx: cut.phases.reduce((sum, { cards5xx }) => sum + cards5xx, 0),
      unanswered,
      p99Ratios: ratiosOf(run),
    },
    tax: {
      fullShare: rounded(fullShare(samples.tax, fromMs, toMs), 4),
      refused,
      estimateShare: refused === 0 ? 0 : main.quotesRefusedWithEstimate / refused,
      strayAnswers: main.quotesStray + main.quotesAnswered,
      shedServerMs: shedServer && {
        p50: rounded(shedServer.p50Ms, 3),
        p99: rounded(shedServer.p99Ms, 3),
        maxBound: shedServer.maxMsBound,
      },
      shedClientMs: refusalMs && { p50: refusalMs.p50, p99: refusalMs.p99, max: refusalMs.max },
      recoveryMs: recoveryMs(samples.tax, restoredAtMs),
    },
    exampleCallers: run.exampleCallers,
    zombiesMax: Math.max(0, ...Object.values(samples).flatMap((lane) => lane.map(({ zombies }) => zombies))),
    releaseViolations: run.releaseViolations,
    orphanedConnections: Object.values(run.connections).reduce(
      (sum, { beyondPool, abandoned }) => sum + beyondPool + abandoned,
      0,
    ),
    permitsOut: run.permitsOut,
    auditFaults: Math.max(audit.answered - audit.found, 0) + (audit.passed ? 0 : 1),
    alertsRaised: Object.values(run.alerts).reduce((sum, count) => sum + count, 0),
  };
}

/** p99 of each brownout ÷ p99 of the quiet phase of its pair. */
export function ratiosOf({ cut }: RecoveryRun): number[] {
  const p99Of = (kind: 'quiet' | 'brownout', pair: number): number | null =>
    cut.phases.find(({ phase }) => phase.kind === kind && phase.pair === pair)?.cards?.p99 ?? null;
  const pairs = new Set(cut.phases.flatMap(({ phase }) => (phase.pair === null ? [] : [phase.pair])));
  return [...pairs].flatMap((pair) => {
    const [quiet, brownout] = [p99Of('quiet', pair), p99Of('brownout', pair)];
    return quiet === null || brownout === null ? [] : [rounded(brownout / quiet, 3)];
  });
}
