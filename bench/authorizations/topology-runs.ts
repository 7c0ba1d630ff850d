import type { Closing } from '../support/closing';
import type { Installation } from '../support/installation';
import { spreadOf, type Spread } from '../support/statistics';
import { startTopology, type TopologyName } from '../support/topology';
import { type LoadShape, measure, type MeasuredRun } from './measured-run';

/** One run on processes of its own, which end with it. */
export async function runOnTopology(
  name: TopologyName,
  shape: LoadShape,
  installation: Installation,
  closing: Closing,
): Promise<MeasuredRun> {
  const topology = await startTopology(name, installation, closing);
  try {
    const server = { name, url: topology.urlOf('authorization'), pid: () => topology.pidOf('authorization') };
    return await measure(server, shape, installation, closing);
  } finally {
    await topology.stop();
  }
}

/** Figures over the runs that count: a void run is kept in the list and left out here. */
export interface RunsSummary {
  readonly server: string;
  readonly runs: number;
  readonly voidRuns: number;
  readonly heldRuns: number;
  readonly auditsPassed: number;
  readonly p50Ms: Spread | null;
  readonly p90Ms: Spread | null;
  readonly p99Ms: Spread | null;
  readonly p999Ms: Spread | null;
  readonly maxMs: Spread | null;
  readonly firstTryShare: Spread | null;
  readonly cpuMicrosecondsPerRequest: Spread | null;
  readonly groupSizeMean: Spread | null;
  readonly serverRssMiBMax: Spread | null;
}

export function summarize(server: string, runs: readonly MeasuredRun[]): RunsSummary {
  const sound = runs.filter((run) => !run.void);
  const over = (figure: (run: MeasuredRun) => number | null | undefined): Spread | null =>
    spreadOf(sound.map(figure).filter((value) => value !== null && value !== undefined));
  return {
    server,
    runs: runs.length,
    voidRuns: runs.length - sound.length,
    heldRuns: runs.filter(({ held }) => held).length,
    auditsPassed: runs.filter(({ audit }) => audit.passed).length,
    p50Ms: over(({ latencyMs }) => latencyMs?.p50),
    p90Ms: over(({ latencyMs }) => latencyMs?.p90),
    p99Ms: over(({ latencyMs }) => latencyMs?.p99),
    p999Ms: over(({ latencyMs }) => latencyMs?.p999),
    maxMs: over(({ latencyMs }) => latencyMs?.max),
    firstTryShare: over(({ firstTryShare }) => firstTryShare),
    cpuMicrosecondsPerRequest: over(({ cpuMicrosecondsPerRequest }) => cpuMicrosecondsPerRequest),
    groupSizeMean: over(({ groupSizeMean }) => groupSizeMean),
    serverRssMiBMax: over(({ serverUsage }) => serverUsage?.rssMiBMax),
  };
}
