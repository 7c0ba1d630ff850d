import { describeDurability } from '../../support/durability';
import type { ResultHead } from '../../support/results';
import { type Figure, type Verdict } from '../recovery/figures';
import { holdsOf, limitOf, valueOf } from '../recovery/print';
import type { Page } from './page';

/** Where, when and on what a run was made. */
export function placeFacts({ startedAt, commit, machine, durability }: ResultHead): Page['facts'] {
  return [
    ['started', startedAt],
    ['commit', commit ?? 'unknown'],
    ['machine', `${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, kernel ${machine.kernel}`],
    ['versions', `Node ${machine.node}, PostgreSQL ${durability.server_version}`],
    ['durability', describeDurability(durability)],
  ];
}

/** The table on top of a report. */
export function verdictRows({ figures }: Verdict): Page['table'] {
  return Object.entries(figures).map(([name, figure]: [string, Figure]) => ({
    name,
    measured: valueOf(figure),
    limit: limitOf(figure),
    holds: holdsOf(figure),
    broken: figure.gates && !figure.holds,
  }));
}
