import { choiceOption, lagLimitOption, numberOption, parseOptions } from '../support/options';
import { recordedFile } from '../support/results';
import { TOPOLOGIES, type TopologyName } from '../support/topology';
import { FAULT_KINDS, type FaultKind } from './faults';

export const USAGE = `Cards at a constant rate while the process of another lane is broken: quiet and fault phases in turn.

  --topology all|isolated|both   default both, one after the other
  --lane fraud|tax  whose process is broken (default fraud); in \`all\` that is everybody's process
  --faults LIST     of ${FAULT_KINDS.join(',')} (default all of them)
  --rate N          cards per second (default 1400)
  --pairs N         quiet and fault phases per kind of fault (default 5)
  --phase S         length of each phase (default 20; a multiple of seconds, at least 8)
  --warmup S        sent first and left out of the figures (default 10)
  --lag-limit MS    p99 of the generator's own lag beyond which the load is void (default 5; more is for trying only)
  --short           200/s, block and kill, one pair each, 8 s a phase, isolated only: only to show that this still works
  --out FILE        the result as JSON (default bench/results/isolation.json; with --short none)

Exit code: 0 done, 1 it could not be done, 2 the load of the isolated topology was void.`;

export interface Options {
  readonly topologies: readonly TopologyName[];
  readonly lane: 'fraud' | 'tax';
  readonly faults: readonly FaultKind[];
  readonly rate: number;
  readonly pairs: number;
  readonly phaseS: number;
  readonly warmupS: number;
  readonly short: boolean;
  readonly lagP99MsMax: number;
  readonly out: string | null;
}

const SHORT = { rate: 200, pairs: 1, phaseS: 8, warmupS: 2 } as const;
/** One that ends by itself and one that ends the process: the others differ in figures only. */
const SHORT_FAULTS = ['block', 'kill'] as const satisfies readonly FaultKind[];
const FULL = { rate: 1_400, pairs: 5, phaseS: 20, warmupS: 10 } as const;
/** A blocked event loop stands still for 5 s, and what it kept waiting has to be answered in the same phase. */
const PHASE_S_MIN = 8;

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  const usual = short ? SHORT : FULL;
  const topology = choiceOption('topology', values.topology, short ? 'isolated' : 'both', ['both', ...TOPOLOGIES]);
  return {
    topologies: topology === 'both' ? [...TOPOLOGIES].reverse() : [topology],
    lane: choiceOption('lane', values.lane, 'fraud', ['fraud', 'tax']),
    faults: (values.faults?.split(',') ?? (short ? SHORT_FAULTS : FAULT_KINDS)).map((name) =>
      choiceOption('faults', name, 'kill', FAULT_KINDS),
    ),
    rate: numberOption('rate', values.rate, usual.rate, { min: 1, max: 5_000 }),
    pairs: numberOption('pairs', values.pairs, usual.pairs, { min: 1, max: 50 }),
    phaseS: Math.round(numberOption('phase', values.phase, usual.phaseS, { min: PHASE_S_MIN, max: 600 })),
    warmupS: Math.round(numberOption('warmup', values.warmup, usual.warmupS, { min: 1, max: 600 })),
    short,
    lagP99MsMax: lagLimitOption(values['lag-limit']),
    out: values.out ?? (short ? null : recordedFile('isolation')),
  };
}

function parse(argv: readonly string[]) {
  return parseOptions(argv, {
    topology: { type: 'string' },
    lane: { type: 'string' },
    faults: { type: 'string' },
    rate: { type: 'string' },
    pairs: { type: 'string' },
    phase: { type: 'string' },
    warmup: { type: 'string' },
    'lag-limit': { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
}
