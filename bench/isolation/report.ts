import { cell, percentCell, renderTable } from '../support/table';
import type { Spread } from '../support/statistics';
import { faultTitles } from './faults';
import type { IsolationRun } from './isolation-run';

function spreadCell(spread: Spread | null, digits: number): string {
  if (spread === null) return '-';
  return `${cell(spread.median, digits)} (${cell(spread.min, digits)}–${cell(spread.max, digits)})`;
}

/** Both topologies side by side, one row per kind of fault. */
export function renderIsolation(runs: readonly IsolationRun[]): string {
  const head = [
    'fault in the other lane',
    'topology',
    'pairs',
    'p99 quiet, ms',
    'p99 fault, ms',
    'fault ÷ quiet',
    'answered',
    'answered 201',
    'quiet 201',
    'restarts',
  ];
  const kinds = runs[0]?.summaries.map(({ kind }) => kind) ?? [];
  const rows = kinds.flatMap((kind) =>
    runs.flatMap((run) => {
      const summary = run.summaries.find((each) => each.kind === kind);
      if (summary === undefined) return [];
      const restarts = run.events.filter(({ phase }) => run.phases[phase]?.kind === kind);
      return [
        [
          faultTitles[kind],
          run.topology,
          String(summary.pairs),
          spreadCell(summary.quietP99Ms, 1),
          spreadCell(summary.faultP99Ms, 1),
          spreadCell(summary.p99Ratio, 2),
          percentCell(summary.answeredShare),
          percentCell(summary.succeededShare),
          percentCell(summary.quietSucceededShare),
          String(restarts.reduce((sum, event) => sum + event.restarts, 0)),
        ],
      ];
    }),
  );
  const notes = runs.map((run) => {
    const { topology, answered201, rows: rowsFound, cardRestarts, notSent, overflow } = run;
    const verdict = run.void ? `VOID: ${run.voidReason ?? ''}` : 'valid';
    const lost = `not sent ${notSent}, overflow ${overflow}, no answer ${JSON.stringify(run.unknownReasons)}`;
    return `${topology}: ${answered201} answered 201, ${rowsFound} rows, ${lost}; the cards' process restarted ${cardRestarts} times; load ${verdict}`;
  });
  return [renderTable([head, ...rows]), ...notes].join('\n');
}
