import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { LatencyFigures } from '../load/latency-histogram';
import { type AuditResult, auditAuthorizations } from '../support/audit';
import type { Closing } from '../support/closing';
import { checkpoint, readWalCounters } from '../support/durability';
import type { Installation } from '../support/installation';
import { loadCards } from '../support/load';
import { meanBetween, readMetrics } from '../support/metrics';
import { UsageSampler, type WindowUsage } from '../support/process-usage';
import { rounded } from '../support/statistics';

/** Contract 14, first row. */
export const targets = { p99MsMax: 120, firstTryShareMin: 0.999 } as const;

/** The server under load, whatever it is. */
export interface ServerUnderLoad {
  readonly name: string;
  readonly url: string;
  readonly pid: () => number | null;
}

export interface LoadShape {
  readonly rate: number;
  readonly warmupS: number;
  readonly durationS: number;
  readonly lagP99MsMax: number;
}

/** One run in figures. Times in milliseconds from the scheduled send, CPU of the measured time only. */
export interface MeasuredRun {
  readonly server: string;
  readonly rate: number;
  readonly startedAt: string;
  readonly durationS: number;
  readonly void: boolean;
  readonly voidReason: string | null;
  /** p99 and first-try share of contract 14, nothing without an answer, and the audit. */
  readonly held: boolean;
  readonly latencyMs: LatencyFigures | null;
  readonly serviceMs: LatencyFigures | null;
  readonly generatorLagMs: LatencyFigures | null;
  readonly generatorCpuShare: number;
  readonly operations: number;
  readonly answered: number;
  readonly unknown: number;
  readonly notSent: number;
  readonly overflow: number;
  readonly firstTryShare: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly codes: Readonly<Record<string, number>>;
  readonly groupSizeMean: number | null;
  readonly cpuMicrosecondsPerRequest: number | null;
  /** Of the server before any load: what runs in the background whether or not anybody asks. */
  readonly idleCpuShare: number | null;
  readonly serverUsage: WindowUsage | null;
  readonly postgresUsage: WindowUsage | null;
  readonly walBytesPerRequest: number;
  readonly commitsPerRequest: number;
  readonly checkpoints: number;
  readonly audit: AuditResult;
}

const IDLE_MS = 2_000;

/** Loads a server that has just become ready, and looks afterwards whether all that it said is true. */
export async function measure(
  server: ServerUnderLoad,
  shape: LoadShape,
  installation: Installation,
  closing: Closing,
): Promise<MeasuredRun> {
  closing.check();
  const { adminUrl, folder, postmasterPid } = installation;
  const caller = `bench-${randomBytes(6).toString('hex')}`;
  const token = await installation.token(caller, ['authorizations']);
  await checkpoint(adminUrl);
  const sampler = new UsageSampler([
    { name: 'server', pid: server.pid, withChildren: false },
    { name: 'postgres', pid: () => postmasterPid, withChildren: true },
  ]);
  const stopSampling = (): void => sampler.stop();
  try {
    const idleFromMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const idleToMs = Date.now();
    const [metricsBefore, walBefore] = [await readMetrics(server.url), await readWalCounters(adminUrl)];
    const outcome = await loadCards({ ...shape, url: server.url, token }, folder, closing.signal);
    const [metricsAfter, walAfter] = [await readMetrics(server.url), await readWalCounters(adminUrl)];
    stopSampling();
    const audit = await auditAuthorizations(adminUrl, caller, outcome.answersFile);
    rmSync(outcome.answersFile, { force: true });
    const { cards, result, fromMs, toMs } = outcome;
    const usage = sampler.window('server', fromMs, toMs);
    const sent = shape.rate * (shape.warmupS + shape.durationS);
    const groupSizeMean = meanBetween('authorization_group_size', metricsBefore, metricsAfter);
    return {
      server: server.name,
      rate: shape.rate,
      startedAt: result.startedAt,
      durationS: shape.durationS,
      void: result.void,
      voidReason: result.voidReason,
      held: !result.void && audit.passed && holds(cards),
      latencyMs: cards.latencyMs,
      serviceMs: cards.serviceMs,
      generatorLagMs: result.generator.lagMs,
      generatorCpuShare: result.generator.cpuShare,
      operations: cards.operations,
      answered: cards.answered,
      unknown: cards.unknown,
      notSent: cards.notSent,
      overflow: cards.overflow,
      firstTryShare: cards.firstTryShare,
      statuses: cards.statuses,
      codes: cards.codes,
      groupSizeMean: groupSizeMean === null ? null : rounded(groupSizeMean, 2),
      cpuMicrosecondsPerRequest:
        usage === null || cards.answered === 0 ? null : rounded((usage.cpuS * 1e6) / cards.answered, 1),
      idleCpuShare: sampler.window('server', idleFromMs, idleToMs)?.cpuShare ?? null,
      serverUsage: usage,
      postgresUsage: sampler.window('postgres', fromMs, toMs),
      walBytesPerRequest: Math.round((walAfter.walBytes - walBefore.walBytes) / sent),
      commitsPerRequest: rounded((walAfter.commits - walBefore.commits) / sent, 3),
      checkpoints: walAfter.checkpoints - walBefore.checkpoints,
      audit,
    };
  } finally {
    stopSampling();
  }
}

function holds(cards: {
  readonly latencyMs: LatencyFigures | null;
  readonly firstTryShare: number;
  readonly unknown: number;
}): boolean {
  const { latencyMs, firstTryShare, unknown } = cards;
  return (
    unknown === 0 &&
    latencyMs !== null &&
    latencyMs.p99 <= targets.p99MsMax &&
    firstTryShare >= targets.firstTryShareMin
  );
}
