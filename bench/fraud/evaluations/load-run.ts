import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LatencyFigures } from '../../load/latency-histogram';
import type { LoadResult } from '../../load/result';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import type { Installation } from '../../support/installation';
import { generate } from '../../support/load';
import { UsageSampler, type WindowUsage } from '../../support/process-usage';
import { rounded } from '../../support/statistics';
import { readAnswers, type StatusFigures } from './answers';
import { type AuditResult, auditEvaluations } from './audit';

export interface LoadShape {
  readonly what: string;
  readonly rate: number;
  readonly durationS: number;
  readonly warmupS: number;
  readonly lagP99MsMax: number;
}

export interface LoadRun {
  readonly what: string;
  readonly rate: number;
  readonly durationS: number;
  readonly startedAt: string;
  readonly void: boolean;
  readonly voidReason: string | null;
  readonly generatorLagMs: LatencyFigures | null;
  readonly operations: number;
  /** Without an answer, whatever the reason; belongs to no status. */
  readonly unanswered: number;
  readonly statuses: readonly StatusFigures[];
  readonly codes: Readonly<Record<string, number>>;
  readonly cpuMicrosecondsPerAnswer: number | null;
  readonly serverUsage: WindowUsage | null;
  readonly postgresUsage: WindowUsage | null;
  readonly audit: AuditResult;
}

/** Loads the lane's process and looks afterwards whether every answer is true. */
export async function runLoad(
  shape: LoadShape,
  server: { readonly url: string; readonly pid: () => number | null },
  installation: Installation,
  closing: Closing,
): Promise<LoadRun> {
  closing.check();
  const file = (name: string): string => join(installation.folder, `evaluations-${name}`);
  const [planFile, resultFile, answersFile] = [file('plan.json'), file('result.json'), file('answers.ndjson')];
  const caller = `bench-${randomBytes(6).toString('hex')}`;
  const target = {
    name: 'fraud-evaluations',
    url: `${server.url}/v1/fraud/evaluations`,
    token: await installation.token(caller, ['fraud']),
    rate: shape.rate,
    durationS: shape.durationS,
  };
  const { warmupS, lagP99MsMax } = shape;
  writeFileSync(planFile, JSON.stringify({ warmupS, lagP99MsMax, targets: [target] }), { mode: 0o600 });
  await checkpoint(installation.adminUrl);
  const sampler = new UsageSampler([
    { name: 'server', pid: server.pid, withChildren: false },
    { name: 'postgres', pid: () => installation.postmasterPid, withChildren: true },
  ]);
  try {
    await generate(['--plan', planFile, '--out', resultFile, '--answers', answersFile], closing.signal);
  } finally {
    sampler.stop();
  }
  const result = JSON.parse(readFileSync(resultFile, 'utf8')) as LoadResult;
  const answers = await readAnswers(answersFile);
  for (const old of [resultFile, answersFile]) rmSync(old, { force: true });
  const fromMs = Date.parse(result.startedAt);
  const usageOf = (name: string): WindowUsage | null => sampler.window(name, fromMs, fromMs + shape.durationS * 1_000);
  const [load] = result.targets;
  if (load === undefined) throw new Error('The generator says nothing of the evaluations');
  const serverUsage = usageOf('server');
  return {
    what: shape.what,
    rate: shape.rate,
    durationS: shape.durationS,
    startedAt: result.startedAt,
    void: result.void,
    voidReason: result.voidReason,
    generatorLagMs: result.generator.lagMs,
    operations: load.operations,
    unanswered: load.unknown + load.notSent + load.overflow,
    statuses: answers.figures(load.operations),
    codes: load.codes,
    cpuMicrosecondsPerAnswer:
      serverUsage === null || load.answered === 0 ? null : rounded((serverUsage.cpuS * 1e6) / load.answered, 1),
    serverUsage,
    postgresUsage: usageOf('postgres'),
    audit: await auditEvaluations(installation.adminUrl, caller, answers, closing),
  };
}
