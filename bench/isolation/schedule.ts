import type { FaultKind } from './faults';

export interface Phase {
  readonly kind: FaultKind;
  readonly pair: number;
  readonly mode: 'quiet' | 'fault';
  /** Whole seconds of the load's schedule. */
  readonly fromS: number;
  readonly toS: number;
}

/**
 * Quiet and fault phases in turn. Kinds of fault rotate instead of following one another, so that a drift of the machine
 * meets all of them, and a process that was killed has run for a while before it dies again: its supervisor then
 * does not make it wait longer each time.
 */
export function phasesOf(faults: readonly FaultKind[], pairs: number, phaseS: number): Phase[] {
  const phases: Phase[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const kind of faults) {
      for (const mode of ['quiet', 'fault'] as const) {
        const fromS = phases.length * phaseS;
        phases.push({ kind, pair, mode, fromS, toS: fromS + phaseS });
      }
    }
  }
  return phases;
}
