import { type Machine } from '../load/result';
import { FEATURES, SCENARIOS, type Feature, type Scenario } from './candidate';
import { type CandidateResult, type Plan } from './rounds';
import { type Spread } from './statistics';

export interface EngineResult {
  benchmark: 'engine';
  command: string;
  startedAt: string;
  finishedAt: string;
  machine: Machine;
  /** Over one minute, before and after: what else was running. */
  loadAverage: { before: number; after: number };
  commit: string | null;
  /** Whether the engine or the benchmark differed from that commit. */
  uncommittedChanges: boolean | null;
  versions: Record<string, string>;
  plan: Plan;
  candidates: CandidateResult[];
}

export function renderTable(result: EngineResult): string {
  const { machine, loadAverage } = result;
  const dirty = result.uncommittedChanges === true ? ' with changes' : '';
  return [
    `${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, kernel ${machine.kernel}`,
    `commit ${result.commit ?? 'unknown'}${dirty}, ${result.startedAt}, load average ${loadAverage.before.toFixed(1)} before, ${loadAverage.after.toFixed(1)} after`,
    `${result.plan.rounds} interleaved rounds, a process for each measurement; median (min–max); ratio > 1: faster than ours`,
    Object.entries(result.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
    ...(Object.keys(SCENARIOS) as Scenario[]).flatMap((scenario) => scenarioLines(scenario, result.candidates)),
    '',
    'What they do, and do not do:',
    ...featureLines(result.candidates),
  ].join('\n');
}

function scenarioLines(scenario: Scenario, all: readonly CandidateResult[]): string[] {
  const rows = all
    .filter((candidate) => candidate.scenario === scenario)
    .map((candidate) => [
      `${candidate.peer} ${candidate.call}`,
      millions(candidate.callsPerSecond),
      spreadOf(candidate.ratioToOurs, (ratio) => ratio.toFixed(2)),
      candidate.allocatedPerCall === null ? '-' : candidate.allocatedPerCall.median.toFixed(0),
      candidate.retainedPerCall === null ? '-' : candidate.retainedPerCall.median.toFixed(1),
      share(candidate.counted.overtaken, candidate.counted.calls),
      share(candidate.counted.refused, candidate.counted.calls),
    ]);
  const head = [scenario, 'million/s', 'ratio', 'bytes/call', 'left/call', 'overtaken', 'refused'];
  return ['', `${scenario}: ${SCENARIOS[scenario]}`, ...align([head, ...rows])];
}

/** One line per way to call a peer: a permit taken by hand and a call under one differ in what they do. */
function featureLines(candidates: readonly CandidateResult[]): string[] {
  const ways = [...new Map(candidates.map((candidate) => [`${candidate.peer} ${candidate.call}`, candidate]))];
  const features = Object.keys(FEATURES) as Feature[];
  return [
    ...align([['', ...features], ...ways.map(([name, { does }]) => [name, ...features.map((one) => does[one])])]),
    ...features.map((feature) => `  ${feature}: ${FEATURES[feature]}`),
    ...ways.filter(([, { note }]) => note !== '').map(([name, { note }]) => `  ${name}: ${note}`),
  ];
}

function millions(figures: Spread): string {
  return spreadOf(figures, (perSecond) => (perSecond / 1e6).toFixed(2));
}

function spreadOf({ median, min, max }: Spread, format: (value: number) => string): string {
  return `${format(median)} (${format(min)}–${format(max)})`;
}

function share(part: number, whole: number): string {
  return part === 0 ? '0' : `${((part / whole) * 100).toFixed(1)} %`;
}

/** First column to the left, figures to the right. */
function align(rows: readonly string[][]): string[] {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
