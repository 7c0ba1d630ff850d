import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { laneTable } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import type { LatencyFigures } from '../load/latency-histogram';
import type { Closing } from '../support/closing';
import { checkpoint, readWalCounters } from '../support/durability';
import type { Installation } from '../support/installation';
import { generate } from '../support/load';
import { readMetrics } from '../support/metrics';
import { UsageSampler, type WindowUsage } from '../support/process-usage';
import { rounded } from '../support/statistics';
import { flushFigures, type ServerFigures, writeFigures } from './server-figures';
import type { GeneratorOutcome, GeneratorPlan, ItemCounts } from './generator';
import { type LedgerServer, startLedger } from './ledger-server';

const GENERATOR = join(__dirname, 'generator.js');
const TRIAL_BALANCE_MS_MAX = 120_000;

/** Contract 14. */
export const targets = { withinTargetShareMin: 0.99, roundTripsSavedShareMin: 0.88 } as const;

export interface LoadShape {
  readonly what: string;
  readonly itemsPerSecond: number;
  /** 1: the single-entry door. */
  readonly itemsPerRequest: number;
  readonly poisonShare: number;
  readonly warmupS: number;
  readonly durationS: number;
  readonly windowS: number;
  readonly lagP99MsMax: number;
}

export interface LedgerRun extends LoadShape {
  readonly startedAt: string;
  readonly void: boolean;
  readonly voidReason: string | null;
  /** Contract 14's bounds of the write, the flush and the trips, everything answered, and the audit. */
  readonly held: boolean;
  /** Contract 14's write: from a request's admission to the last outcome of its items. */
  readonly write: ServerFigures | null;
  readonly flush: ServerFigures | null;
  readonly rowsOfFlushMean: number;
  /** From the scheduled send to the end of the answer, as the client sees it. */
  readonly answerMs: LatencyFigures | null;
  readonly windows: readonly Window[];
  readonly roundTripsSavedShare: number;
  readonly items: ItemCounts;
  readonly statuses: Readonly<Record<string, number>>;
  readonly generatorLagMs: LatencyFigures | null;
  readonly generatorCpuShare: number;
  readonly serverUsage: WindowUsage | null;
  readonly postgresUsage: WindowUsage | null;
  readonly serverCpuMicrosecondsPerItem: number | null;
  readonly walBytesPerItem: number;
  readonly checkpoints: number;
  readonly entriesBefore: number;
  readonly generations: number;
  readonly audit: { readonly entriesWritten: number; readonly balanced: boolean; readonly passed: boolean };
}

/** A stretch of a long run. */
export interface Window {
  readonly write: ServerFigures | null;
  readonly flush: ServerFigures | null;
  readonly answerMs: LatencyFigures | null;
}

type Metrics = ReadonlyMap<string, number>;

interface JournalSize {
  readonly entries: number;
  readonly generations: number;
}

/** One load on a process of its own, and afterwards a look whether all that was answered is true. */
export async function measure(
  shape: LoadShape,
  installation: Installation,
  closing: Closing,
  nodeArguments: readonly string[] = [],
): Promise<LedgerRun> {
  closing.check();
  const { adminUrl, postmasterPid } = installation;
  const server = await startLedger(installation, closing, nodeArguments);
  const sampler = new UsageSampler([
    { name: 'server', pid: () => server.process.pid, withChildren: false },
    { name: 'postgres', pid: () => postmasterPid, withChildren: true },
  ]);
  try {
    const before = await sizeOf(adminUrl);
    await checkpoint(adminUrl);
    const walBefore = await readWalCounters(adminUrl);
    const { outcome, readings } = await load(shape, server, installation.folder, closing.signal);
    const walAfter = await readWalCounters(adminUrl);
    sampler.stop();
    const after = await sizeOf(adminUrl);
    const balanced = await isBalanced(server);
    return figures({ shape, outcome, readings, sampler, walBefore, walAfter, before, after, balanced });
  } finally {
    sampler.stop();
    await server.process.stop();
  }
}

/** Metrics are read when each window begins, and at the end. */
async function load(
  shape: LoadShape,
  server: LedgerServer,
  folder: string,
  signal: AbortSignal,
): Promise<{ outcome: GeneratorOutcome; readings: Metrics[] }> {
  const { itemsPerSecond, itemsPerRequest, poisonShare, warmupS, durationS, windowS, lagP99MsMax } = shape;
  const [planFile, resultFile] = [join(folder, 'ledger-plan.json'), join(folder, 'ledger-result.json')];
  const plan: GeneratorPlan = {
    run: `bench-${randomBytes(6).toString('hex')}`,
    url: `${server.url}/v1/ledger/${itemsPerRequest === 1 ? 'entries' : 'batches'}`,
    token: server.token,
    itemsPerRequest,
    poisonShare,
    requestsPerSecond: itemsPerSecond / itemsPerRequest,
    warmupS,
    durationS,
    windowS,
    lagP99MsMax,
  };
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  rmSync(resultFile, { force: true });
  const readings: Promise<Metrics>[] = [];
  const read = (): void => void readings.push(readMetrics(server.url));
  const timers = Array.from({ length: Math.ceil(durationS / windowS) }, (_, window) =>
    setTimeout(read, (warmupS + window * windowS) * 1_000),
  );
  try {
    await generate([planFile, resultFile], signal, GENERATOR);
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
  read();
  const outcome = JSON.parse(readFileSync(resultFile, 'utf8')) as GeneratorOutcome;
  return { outcome, readings: await Promise.all(readings) };
}

async function sizeOf(adminUrl: string): Promise<JournalSize> {
  return withClient(adminUrl, async (client) => {
    const { schema } = laneTable.ledger.datasource;
    const { rows } = await client.query<JournalSize>(
      `SELECT (SELECT count(*) FROM ${schema}.ledger_journal)::integer AS entries,
         (SELECT count(*) FROM ${schema}.ledger_generations)::integer AS generations`,
    );
    return rows[0] ?? { entries: 0, generations: 0 };
  });
}

async function isBalanced({ url, token }: LedgerServer): Promise<boolean> {
  const answer = await fetch(`${url}/v1/ledger/trial-balance`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(TRIAL_BALANCE_MS_MAX),
  });
  return ((await answer.json()) as { balanced?: boolean }).balanced === true;
}

interface Measured {
  readonly shape: LoadShape;
  readonly outcome: GeneratorOutcome;
  readonly readings: readonly Metrics[];
  readonly sampler: UsageSampler;
  readonly walBefore: { readonly walBytes: number; readonly checkpoints: number };
  readonly walAfter: { readonly walBytes: number; readonly checkpoints: number };
  readonly before: JournalSize;
  readonly after: JournalSize;
  readonly balanced: boolean;
}

function figures(measured: Measured): LedgerRun {
  const { shape, outcome, readings, sampler, walBefore, walAfter, before, after, balanced } = measured;
  const { load: result, items, windows } = outcome;
  const target = result.targets[0];
  if (target === undefined) throw new Error('The generator says nothing of the ledger');
  const [first, last] = [readings[0] ?? new Map<string, number>(), readings.at(-1) ?? new Map<string, number>()];
  const write = writeFigures(first, last);
  const flush = flushFigures(first, last);
  const grown = (name: string): number => (last.get(name) ?? 0) - (first.get(name) ?? 0);
  const fromMs = Date.parse(result.startedAt);
  const toMs = fromMs + shape.durationS * 1_000;
  const serverUsage = sampler.window('server', fromMs, toMs);
  const answered = items.committed + items.duplicates + items.failed;
  const entriesWritten = after.entries - before.entries;
  const complete = target.unknown + target.notSent + target.overflow === 0;
  const passed = balanced && (complete ? entriesWritten === items.committed : entriesWritten >= items.committed);
  const saved = rounded(1 - grown('ledger_statements_total') / (shape.itemsPerSecond * shape.durationS), 5);
  const refused = target.operations - target.firstTrySucceeded;
  return {
    ...shape,
    startedAt: result.startedAt,
    void: result.void,
    voidReason: result.voidReason,
    held:
      !result.void &&
      passed &&
      complete &&
      (shape.itemsPerRequest === 1 || refused === 0) &&
      (write?.withinTargetShare ?? 0) >= targets.withinTargetShareMin &&
      (flush?.withinTargetShare ?? 0) >= targets.withinTargetShareMin &&
      (shape.itemsPerRequest === 1 || saved >= targets.roundTripsSavedShareMin),
    write,
    flush,
    rowsOfFlushMean: rounded(grown('ledger_flush_size_sum') / Math.max(1, grown('ledger_flush_size_count')), 1),
    answerMs: target.latencyMs,
    windows: readings.slice(1).map((reading, index) => ({
      write: writeFigures(readings[index] ?? reading, reading),
      flush: flushFigures(readings[index] ?? reading, reading),
      answerMs: windows[index] ?? null,
    })),
    roundTripsSavedShare: saved,
    items,
    statuses: target.statuses,
    generatorLagMs: result.generator.lagMs,
    generatorCpuShare: result.generator.cpuShare,
    serverUsage,
    postgresUsage: sampler.window('postgres', fromMs, toMs),
    serverCpuMicrosecondsPerItem:
      serverUsage === null ? null : rounded((serverUsage.cpuS * 1e6) / (shape.itemsPerSecond * shape.durationS), 2),
    walBytesPerItem: Math.round((walAfter.walBytes - walBefore.walBytes) / Math.max(1, answered)),
    checkpoints: walAfter.checkpoints - walBefore.checkpoints,
    entriesBefore: before.entries,
    generations: after.generations,
    audit: { entriesWritten, balanced, passed },
  };
}
