import { renderTable } from '../../support/table';
import type { Figure, Verdict } from './figures';
import { ratiosOf } from './measured';
import type { RecoveryRun } from './recovery-run';

export function renderVerdict({ verdict, voidReason, figures }: Verdict): string {
  const rows = Object.entries(figures).map(([name, figure]) => [
    name,
    valueOf(figure),
    limitOf(figure),
    holdsOf(figure),
  ]);
  const table = renderTable([['figure', 'measured', 'limit', 'holds'], ...rows]);
  return `${table}\n\n${verdict}${voidReason === null ? '' : `: ${voidReason}`}`;
}

export function renderPairs(run: RecoveryRun): string {
  const ratios = ratiosOf(run);
  const rows = ratios.map((ratio, pair) => {
    const p99Of = (kind: string): string =>
      run.cut.phases.find(({ phase }) => phase.kind === kind && phase.pair === pair)?.cards?.p99.toFixed(1) ?? '-';
    return [`pair ${pair + 1}`, p99Of('quiet'), p99Of('brownout'), ratio.toFixed(2)];
  });
  return renderTable([['p99 of cards, ms', 'quiet', 'brownout', 'ratio'], ...rows]);
}

export function valueOf({ value, unit }: Pick<Figure, 'value' | 'unit'>): string {
  if (value === null) return 'not measured';
  if (unit === 'share') return `${(value * 100).toFixed(3)} %`;
  const digits = Number.isInteger(value) ? 0 : unit === '×' ? 3 : 2;
  return unit === '' ? value.toFixed(digits) : `${value.toFixed(digits)} ${unit}`;
}

export function limitOf({ limit, rule, unit }: Figure): string {
  return limit === null || rule === null ? '' : `${rule} ${valueOf({ value: limit, unit })}`;
}

export function holdsOf({ holds, gates, limit }: Figure): string {
  if (limit === null) return '';
  return gates ? (holds ? 'yes' : 'NO') : holds ? 'yes (not judged)' : 'no (not judged)';
}
