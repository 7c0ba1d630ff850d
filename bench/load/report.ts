import { type LatencyFigures } from './latency-histogram';
import { type LoadResult, type TargetResult } from './result';

/** The result as a table for people; the JSON has everything, this the first questions. */
export function renderTable(result: LoadResult): string {
  const { machine, generator } = result;
  const lines = [
    `${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, kernel ${machine.kernel}`,
    `commit ${result.commit ?? 'unknown'}, started ${result.startedAt}, ${result.durationS} s after ${result.warmupS} s of warm-up`,
    '',
    ...align([
      [
        'target',
        'rate/s',
        'operations',
        'sent',
        'answered',
        'unknown',
        'overflow',
        'not sent',
        'first try',
        'with retries',
      ],
      ...result.targets.map(countCells),
    ]),
    '',
    ...align([
      ['milliseconds', 'p50', 'p90', 'p99', 'p99.9', 'max'],
      ...result.targets.flatMap((target) => latencyRows(target)),
      figureCells("generator's lag", generator.lagMs),
    ]),
    '',
    ...result.targets.map((target) => `${target.name}: ${renderCounts(target.statuses)}${codes(target)}`),
    `generator: ${(generator.cpuShare * 100).toFixed(1)} % of a core, event-loop delay p99 ${generator.eventLoopDelayMs.p99} ms, max ${generator.eventLoopDelayMs.max} ms`,
    result.voidReason === null ? 'run: valid' : `run: VOID, ${result.voidReason}`,
  ];
  return lines.join('\n');
}

function countCells(target: TargetResult): string[] {
  const { operations, sent, answered, unknown, overflow, notSent } = target;
  const counts = [operations, sent, answered, unknown, overflow, notSent].map(String);
  return [
    target.name,
    target.rate.toFixed(1),
    ...counts,
    percent(target.firstTryShare),
    percent(target.succeededShare),
  ];
}

function latencyRows(target: TargetResult): string[][] {
  const classes = Object.entries(target.latencyMsByClass);
  return [
    figureCells(target.name, target.latencyMs),
    ...(classes.length > 1 ? classes.map(([name, figures]) => figureCells(`${target.name} ${name}`, figures)) : []),
    figureCells(`${target.name} from sending`, target.serviceMs),
  ];
}

function figureCells(name: string, figures: LatencyFigures | null): string[] {
  if (figures === null) return [name, '-', '-', '-', '-', '-'];
  return [name, ...[figures.p50, figures.p90, figures.p99, figures.p999, figures.max].map((ms) => ms.toFixed(2))];
}

function codes(target: TargetResult): string {
  const reasons = renderCounts({ ...target.codes, ...target.unknownReasons });
  return reasons === '' ? '' : ` (${reasons})`;
}

function renderCounts(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} × ${count}`)
    .join(', ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(3)} %`;
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
