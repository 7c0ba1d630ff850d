import { join } from 'node:path';
import type { Closing } from '../support/closing';
import type { Installation } from '../support/installation';
import { rounded, spreadOf, type Spread } from '../support/statistics';
import { startRole } from '../support/topology';
import { type LoadShape, measure, type MeasuredRun, targets } from './measured-run';

const PLAIN_SERVER = join(__dirname, 'plain-server.js');

/** Issue: our path within this many times of the CPU that the same handler takes in plain Fastify and pg. */
export const CPU_RATIO_MAX = 1.25;

export const CONTESTANTS = ['product', 'plain'] as const;
export type Contestant = (typeof CONTESTANTS)[number];

/** One run of one of the two: the product's authorization process alone, or the control, on the same database. */
export async function runContestant(
  name: Contestant,
  shape: LoadShape,
  installation: Installation,
  closing: Closing,
  nodeArguments: readonly string[] = [],
): Promise<MeasuredRun> {
  const script = name === 'plain' ? { script: PLAIN_SERVER } : {};
  const { url, process: server } = await startRole('authorization', installation, closing, {
    nodeArguments,
    ...script,
  });
  try {
    return await measure({ name, url, pid: () => server.pid }, shape, installation, closing);
  } finally {
    await server.stop();
  }
}

export interface Pair {
  readonly product: MeasuredRun;
  readonly plain: MeasuredRun;
  /** Of CPU per request; null where either run was void, or refused so much that refusals were compared with work. */
  readonly cpuRatio: number | null;
  /** The same without what the product does while nobody asks. */
  readonly cpuRatioBeyondIdle: number | null;
}

export interface Comparison {
  readonly pairs: readonly Pair[];
  readonly cpuRatio: Spread | null;
  readonly cpuRatioBeyondIdle: Spread | null;
  readonly withinTarget: boolean | null;
}

/** Interleaved, the order turned from pair to pair, so that neither always meets the fuller database. */
export async function runPair(
  index: number,
  shape: LoadShape,
  installation: Installation,
  closing: Closing,
): Promise<Pair> {
  const runs = new Map<Contestant, MeasuredRun>();
  for (const name of index % 2 === 0 ? CONTESTANTS : [...CONTESTANTS].reverse()) {
    runs.set(name, await runContestant(name, shape, installation, closing));
  }
  const [product, plain] = [runs.get('product'), runs.get('plain')];
  if (product === undefined || plain === undefined) throw new Error('A pair has two runs');
  return {
    product,
    plain,
    cpuRatio: ratio(product, plain, (run) => run.cpuMicrosecondsPerRequest),
    cpuRatioBeyondIdle: ratio(product, plain, beyondIdle),
  };
}

export function compare(pairs: readonly Pair[]): Comparison {
  const over = (figure: (pair: Pair) => number | null): Spread | null =>
    spreadOf(pairs.map(figure).filter((value) => value !== null));
  const cpuRatio = over((pair) => pair.cpuRatio);
  return {
    pairs,
    cpuRatio,
    cpuRatioBeyondIdle: over((pair) => pair.cpuRatioBeyondIdle),
    withinTarget: cpuRatio === null ? null : cpuRatio.median <= CPU_RATIO_MAX,
  };
}

function beyondIdle({ cpuMicrosecondsPerRequest, idleCpuShare, rate }: MeasuredRun): number | null {
  if (cpuMicrosecondsPerRequest === null || idleCpuShare === null) return null;
  return cpuMicrosecondsPerRequest - (idleCpuShare * 1e6) / rate;
}

function ratio(product: MeasuredRun, plain: MeasuredRun, figure: (run: MeasuredRun) => number | null): number | null {
  const [ours, theirs] = [figure(product), figure(plain)];
  const sound = [product, plain].every((run) => !run.void && run.firstTryShare >= targets.firstTryShareMin);
  if (!sound || ours === null || theirs === null || theirs <= 0) return null;
  return rounded(ours / theirs, 3);
}
