import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { currentCommit, describeMachine } from './machine';
import { checkPlan, planLimits, type LoadPlan, type TargetPlan } from './plan';
import { type GeneratorResult, type LoadResult } from './result';
import { TargetRunner, type LoadHooks } from './target-runner';
import { voidReason } from './verdict';

export interface RunOptions {
  hooks?: LoadHooks;
  /** Ends the run early: answers under way are awaited, and the result is void. */
  signal?: AbortSignal;
  /** Uniform in 0 … 1, for the jitter of retries. */
  random?: () => number;
}

/** Timers of Node have whole milliseconds, so a request leaves up to about 1.5 ms after it was due. */
const TICK_MS_MIN = 1;
/** A retry that becomes due at once waits no longer than this for the loop to look. */
const TICK_MS_MAX = 4;
const LOOP_DELAY_RESOLUTION_MS = 10;
const JITTER_S_MAX = 60;

/**
 * Runs an open-loop load: every request leaves when its schedule says so, whether or not earlier ones were answered,
 * and its latency counts from that moment. The first connections are open before the clock starts.
 */
export async function runLoad(plan: LoadPlan, options: RunOptions = {}): Promise<LoadResult> {
  checkPlan(plan);
  const nowMs = (): number => performance.now();
  const { hooks = {}, random = Math.random, signal } = options;
  const shared = { warmupS: plan.warmupS, hooks, nowMs, random };
  const runners = plan.targets.map((target) => new TargetRunner(target, shared));
  try {
    const commit = await currentCommit();
    for (const runner of runners) await runner.open();
    const loopDelay = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
    loopDelay.enable();
    const cpuBefore = process.cpuUsage();
    const startMs = nowMs();
    const startedAt = new Date(Date.now() + plan.warmupS * 1_000).toISOString();
    const drained = await drive(runners, startMs, startMs + runMsMax(plan), nowMs, signal);
    const cpu = process.cpuUsage(cpuBefore);
    const cpuShare = (cpu.user + cpu.system) / 1_000 / (nowMs() - startMs);
    loopDelay.disable();
    // Every request has an outcome before the counts are taken: what is still open becomes unknown.
    await Promise.all(runners.map((runner) => runner.close()));
    for (const runner of runners) runner.stop();
    return assemble(plan, runners, { startedAt, commit, loopDelay, cpuShare }, signal?.aborted ?? false, !drained);
  } finally {
    await Promise.all(runners.map((runner) => runner.close()));
  }
}

/** Resolves once everything is sent and ended, or at `endMs` (false). */
function drive(
  runners: readonly TargetRunner[],
  startMs: number,
  endMs: number,
  nowMs: () => number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  for (const runner of runners) runner.start(startMs);
  return new Promise((resolve, reject) => {
    const turn = (): void => {
      if (signal?.aborted === true) for (const runner of runners) runner.stop();
      let nextMs = nowMs() + TICK_MS_MAX;
      for (const runner of runners) nextMs = Math.min(nextMs, runner.sendDue(nowMs()) ?? nextMs);
      const waitMs = Math.floor(nextMs - nowMs());
      if (runners.every((runner) => runner.finished)) resolve(true);
      else if (nowMs() >= endMs) resolve(false);
      // A generator that is behind goes on at once, after the event loop has read what came in.
      else if (nextMs <= nowMs()) setImmediate(guarded);
      else setTimeout(guarded, Math.max(TICK_MS_MIN, waitMs));
    };
    // A payload factory that throws ends the run; thrown in a timer it would end the process.
    const guarded = (): void => {
      try {
        turn();
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    guarded();
  });
}

function durationS(target: TargetPlan): number {
  return target.stages.reduce((sum, stage) => sum + stage.durationS, 0);
}

/** The whole run with its retries, each at its longest. */
function runMsMax(plan: LoadPlan): number {
  const each = plan.targets.map((target) => {
    const waitsMs = target.retries ? planLimits.retriesMax * (planLimits.retryAfterSMax + JITTER_S_MAX) * 1_000 : 0;
    const answersMs = target.answerMsMax * (target.retries ? planLimits.retriesMax + 1 : 1);
    return (plan.warmupS + durationS(target) + 1) * 1_000 + waitsMs + answersMs;
  });
  return Math.max(...each);
}

interface Observed {
  startedAt: string;
  commit: string | null;
  loopDelay: ReturnType<typeof monitorEventLoopDelay>;
  cpuShare: number;
}

function assemble(
  plan: LoadPlan,
  runners: readonly TargetRunner[],
  observed: Observed,
  interrupted: boolean,
  undrained: boolean,
): LoadResult {
  const targets = runners.map((runner, index) => {
    const target = plan.targets[index];
    if (target === undefined) throw new Error('a runner without a plan');
    return runner.finish(durationS(target));
  });
  const lags = targets.map((target) => target.lagMs).filter((lag) => lag !== null);
  // The worst target decides: a small target that is late is not excused by a large one that is on time.
  const worst = lags.reduce<(typeof lags)[number] | null>((a, b) => (a !== null && a.p99 >= b.p99 ? a : b), null);
  const reason = voidReason({
    lagP99Ms: lags.length === targets.length ? (worst?.p99 ?? null) : null,
    lagP99MsMax: plan.lagP99MsMax,
    overflow: targets.reduce((sum, target) => sum + target.overflow, 0),
    interrupted,
    undrained,
  });
  const generator: GeneratorResult = {
    lagMs: worst,
    lagP99MsMax: plan.lagP99MsMax,
    eventLoopDelayMs: {
      p50: beyondResolutionMs(observed.loopDelay.percentile(50)),
      p99: beyondResolutionMs(observed.loopDelay.percentile(99)),
      max: beyondResolutionMs(observed.loopDelay.max),
    },
    cpuShare: Math.round(observed.cpuShare * 1_000) / 1_000,
  };
  return {
    machine: describeMachine(),
    commit: observed.commit,
    startedAt: observed.startedAt,
    warmupS: plan.warmupS,
    durationS: Math.max(...plan.targets.map(durationS)),
    targets,
    generator,
    void: reason !== null,
    voidReason: reason,
  };
}

/** Node records the whole interval of its sampling timer; what exceeds it is the delay. */
function beyondResolutionMs(nanoseconds: number): number {
  return Math.max(0, Math.round(nanoseconds / 1_000 - LOOP_DELAY_RESOLUTION_MS * 1_000) / 1_000);
}
