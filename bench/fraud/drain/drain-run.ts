import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { laneTable } from '../../../config/lanes';
import { withClient } from '../../../scripts/setup/postgres-client';
import type { LoadResult, SecondRow } from '../../load/result';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import type { Installation } from '../../support/installation';
import { generate } from '../../support/load';
import { rounded, spreadOf, type Spread } from '../../support/statistics';
import type { Options } from './command';
import type { Backlog, FraudServer } from './fraud-server';

const WARMUP_S = 3;
/** The generator needs about this to start; the drain begins so much after the quiet seconds at the latest. */
const GENERATOR_START_MS = 700;

/** The load's whole seconds of one kind. */
export interface Seconds {
  readonly seconds: number;
  readonly p50Ms: Spread | null;
  readonly p99Ms: Spread | null;
  readonly answered: number;
  readonly succeeded: number;
}

export interface DrainRun {
  readonly kind: 'alone' | 'beside the load';
  readonly backlog: Omit<Backlog, 'ids'> & { readonly accepted: number };
  readonly drainedMs: number;
  readonly jobsPerSecond: number;
  readonly void: boolean;
  readonly voidReason: string | null;
  readonly statuses: Readonly<Record<string, number>>;
  readonly quiet: Seconds | null;
  readonly draining: Seconds | null;
  /** Accepted evaluations with exactly one row; equal to those accepted where nothing was lost or doubled. */
  readonly withOneResult: number;
  readonly failedJobs: number;
}

export async function runDrain(
  kind: DrainRun['kind'],
  server: FraudServer,
  options: Options,
  installation: Installation,
  closing: Closing,
): Promise<DrainRun> {
  closing.check();
  const caller = `drain-${randomBytes(6).toString('hex')}`;
  const token = await installation.token(caller, ['fraud']);
  const { ids, ...backlog } = await server.fill(options.backlog, caller, token);
  await checkpoint(installation.adminUrl);
  const load = kind === 'alone' ? null : await loadAndDrain(server, options, installation, closing);
  const drained = load?.drained ?? (await server.drain());
  const drainedMs = drained.toMs - drained.fromMs;
  const [result] = load?.result.targets ?? [];
  const startedAtMs = load === null ? 0 : Date.parse(load.result.startedAt);
  const secondsOf = (keep: (fromMs: number, toMs: number) => boolean): Seconds | null =>
    result === undefined
      ? null
      : figuresOf(
          result.series.filter(({ second }) => keep(startedAtMs + second * 1_000, startedAtMs + (second + 1) * 1_000)),
        );
  return {
    kind,
    backlog: { ...backlog, accepted: ids.length },
    drainedMs,
    jobsPerSecond: rounded(ids.length / (drainedMs / 1_000), 1),
    void: load?.result.void ?? false,
    voidReason: load?.result.voidReason ?? null,
    statuses: result?.statuses ?? {},
    quiet: secondsOf((fromMs, toMs) => toMs <= drained.fromMs || fromMs >= drained.toMs),
    draining: secondsOf((fromMs, toMs) => fromMs >= drained.fromMs && toMs <= drained.toMs),
    withOneResult: await countSingleResults(installation, caller, ids),
    failedJobs: await server.queue.getJobCountByTypes('failed'),
  };
}

async function loadAndDrain(
  server: FraudServer,
  { rate, quietS, durationS, lagP99MsMax }: Options,
  installation: Installation,
  closing: Closing,
): Promise<{ result: LoadResult; drained: { fromMs: number; toMs: number } }> {
  const file = (name: string): string => join(installation.folder, `drain-${name}.json`);
  const target = {
    name: 'fraud-evaluations',
    url: `${server.url}/v1/fraud/evaluations`,
    token: await installation.token(`beside-${randomBytes(6).toString('hex')}`, ['fraud']),
    rate,
    durationS,
  };
  writeFileSync(file('plan'), JSON.stringify({ warmupS: WARMUP_S, lagP99MsMax, targets: [target] }), { mode: 0o600 });
  const loaded = generate(['--plan', file('plan'), '--out', file('result')], closing.signal);
  const drained = sleep(GENERATOR_START_MS + (WARMUP_S + quietS) * 1_000).then(() => server.drain());
  const [, window] = await Promise.all([loaded, drained]);
  const result = JSON.parse(readFileSync(file('result'), 'utf8')) as LoadResult;
  rmSync(file('result'), { force: true });
  return { result, drained: window };
}

function figuresOf(rows: readonly SecondRow[]): Seconds {
  const over = (figure: (row: SecondRow) => number | null): Spread | null =>
    spreadOf(rows.map(figure).filter((value) => value !== null));
  const sum = (figure: (row: SecondRow) => number): number => rows.reduce((total, row) => total + figure(row), 0);
  return {
    seconds: rows.length,
    p50Ms: over(({ p50Ms }) => p50Ms),
    p99Ms: over(({ p99Ms }) => p99Ms),
    answered: sum(({ answered }) => answered),
    succeeded: sum(({ succeeded }) => succeeded),
  };
}

/** By the caller's rows: those of the overflow, and those that had held the lane. */
async function countSingleResults({ adminUrl }: Installation, caller: string, ids: readonly string[]): Promise<number> {
  const { schema } = laneTable.fraud.datasource;
  const held = laneTable.fraud.bulkhead.permits + laneTable.fraud.bulkhead.queueMax;
  return withClient(adminUrl, async (client) => {
    const { rows } = await client.query<{ rows: number; ids: number }>(
      `SELECT count(*)::int AS rows, count(DISTINCT id)::int AS ids FROM ${schema}.evaluations WHERE caller = $1`,
      [caller],
    );
    const counted = rows[0] ?? { rows: 0, ids: 0 };
    const doubled = counted.rows - counted.ids;
    return Math.min(counted.ids - held, new Set(ids).size) - doubled;
  });
}
