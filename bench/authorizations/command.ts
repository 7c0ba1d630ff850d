import { choiceOption, lagLimitOption, numberOption, parseOptions } from '../support/options';
import { recordedFile } from '../support/results';
import { TOPOLOGIES, type TopologyName } from '../support/topology';

export const USAGE = `Authorizations at a constant rate, open loop, on a durable PostgreSQL and Redis of its own.

  --topology all|isolated|both   what serves (default both)
  --rate N          requests per second (default 1400)
  --duration S      measured time of each run (default 120)
  --warmup S        sent first and left out of the figures (default 10)
  --runs N          runs per topology, each on fresh processes (default 5)
  --find-max        then look for the highest rate that holds p99 <= 120 ms at >= 99.9 % first try, in steps of 30 s
  --pairs N         then N interleaved pairs with the control, the same handler in plain Fastify and pg (default 5)
  --cpu-prof        then one run of each under V8's profiler: where the product's time goes
  --lag-limit MS    p99 of the generator's own lag beyond which a run is void (default 5; more is for trying only)
  --short           a single run of 10 s in \`all\` and one pair of 5 s: only to show that this still works
  --out FILE        the result as JSON (default bench/results/authorizations.json; with --short none)
  --keep-profiles DIR  with --cpu-prof: where to put the profiles

Exit code: 0 done, 1 it could not be done or an audit failed, 2 a run was void (with --short no figure counts: 0).`;

export interface Options {
  readonly topologies: readonly TopologyName[];
  readonly rate: number;
  readonly durationS: number;
  readonly warmupS: number;
  readonly runs: number;
  readonly findMax: boolean;
  readonly pairs: number;
  /** Of each run of a pair. */
  readonly pairDurationS: number;
  readonly profile: boolean;
  readonly profileFolder: string | null;
  readonly short: boolean;
  readonly lagP99MsMax: number;
  readonly out: string | null;
}

const PAIR_S_DEFAULT = 30;
const SHORT = { rate: 200, durationS: 10, warmupS: 2, pairDurationS: 5 } as const;

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  const topology = choiceOption('topology', values.topology, short ? 'all' : 'both', ['both', ...TOPOLOGIES]);
  return {
    topologies: topology === 'both' ? TOPOLOGIES : [topology],
    rate: numberOption('rate', values.rate, short ? SHORT.rate : 1_400, { min: 1, max: 20_000 }),
    durationS: numberOption('duration', values.duration, short ? SHORT.durationS : 120, { min: 1, max: 3_600 }),
    warmupS: numberOption('warmup', values.warmup, short ? SHORT.warmupS : 10, { min: 0, max: 600 }),
    runs: numberOption('runs', values.runs, short ? 1 : 5, { min: 0, max: 100 }),
    findMax: values['find-max'] === true,
    pairs: numberOption('pairs', values.pairs, short ? 1 : 5, { min: 0, max: 100 }),
    pairDurationS: short ? SHORT.pairDurationS : PAIR_S_DEFAULT,
    profile: values['cpu-prof'] === true,
    profileFolder: values['keep-profiles'] ?? null,
    short,
    lagP99MsMax: lagLimitOption(values['lag-limit']),
    out: values.out ?? (short ? null : recordedFile('authorizations')),
  };
}

function parse(argv: readonly string[]) {
  return parseOptions(argv, {
    topology: { type: 'string' },
    rate: { type: 'string' },
    duration: { type: 'string' },
    warmup: { type: 'string' },
    runs: { type: 'string' },
    'find-max': { type: 'boolean' },
    pairs: { type: 'string' },
    'cpu-prof': { type: 'boolean' },
    'keep-profiles': { type: 'string' },
    'lag-limit': { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
}
