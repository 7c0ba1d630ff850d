import { lagLimitOption, numberOption, parseOptions } from '../support/options';
import { recordedFile } from '../support/results';

export const USAGE = `The ledger's doors at a constant rate, open loop, on a durable PostgreSQL and Redis of its own; then the same
rows written in other ways.

  --rate N          items per second, in batches of 100 (default 16000)
  --duration S      measured time of the runs at that rate (default 60)
  --warmup S        sent first and left out of the figures (default 30)
  --runs N          runs at that rate, each on a fresh process (default 3; 0 leaves them out)
  --preload N       entries that are in the journal before anything is measured (default 0)
  --sustained MIN   then one run of so many minutes, with figures for each five of them (default 0: none)
  --find-max        then the highest rate that holds p99 <= 38 ms, in steps of 20 s
  --single N        then the single-entry door at so many entries per second (default 1000; 0: none)
  --poison          then a run each with 0.4, 5 and 100 % of the items refused by the journal (30 s)
  --compare         then the same rows by the write path alone, one INSERT each and 500 by TypeORM, VALUES and COPY
  --cpu-prof DIR    then a run under V8's profiler: where the process's time goes; the profile is kept there
  --lag-limit MS    p99 of the generator's own lag beyond which a run is void (default 5; more is for trying only)
  --short           everything for seconds and at a low rate: only to show that this still works
  --out FILE        the result as JSON (default bench/results/ledger.json; with --short none)

Exit code: 0 done, 1 it could not be done or an audit failed, 2 a run was void (with --short no figure counts: 0).`;

export interface Options {
  readonly rate: number;
  readonly durationS: number;
  readonly warmupS: number;
  readonly runs: number;
  readonly preloadEntries: number;
  readonly sustainedMin: number;
  readonly findMax: boolean;
  readonly single: number;
  readonly poison: boolean;
  readonly compare: boolean;
  readonly profileFolder: string | null;
  readonly short: boolean;
  readonly lagP99MsMax: number;
  readonly out: string | null;
}

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  return {
    rate: numberOption('rate', values.rate, short ? 2_000 : 16_000, { min: 100, max: 200_000 }),
    durationS: numberOption('duration', values.duration, short ? 2 : 60, { min: 1, max: 3_600 }),
    warmupS: numberOption('warmup', values.warmup, short ? 1 : 30, { min: 0, max: 600 }),
    runs: numberOption('runs', values.runs, short ? 1 : 3, { min: 0, max: 100 }),
    preloadEntries: numberOption('preload', values.preload, short ? 20_000 : 0, { min: 0, max: 1e9 }),
    sustainedMin: numberOption('sustained', values.sustained, 0, { min: 0, max: 240 }),
    findMax: values['find-max'] === true,
    single: numberOption('single', values.single, short ? 100 : 1_000, { min: 0, max: 20_000 }),
    poison: values.poison === true,
    compare: values.compare === true || short,
    profileFolder: values['cpu-prof'] ?? null,
    short,
    lagP99MsMax: lagLimitOption(values['lag-limit']),
    out: values.out ?? (short ? null : recordedFile('ledger')),
  };
}

function parse(argv: readonly string[]) {
  return parseOptions(argv, {
    rate: { type: 'string' },
    duration: { type: 'string' },
    warmup: { type: 'string' },
    runs: { type: 'string' },
    preload: { type: 'string' },
    sustained: { type: 'string' },
    'find-max': { type: 'boolean' },
    single: { type: 'string' },
    poison: { type: 'boolean' },
    compare: { type: 'boolean' },
    'cpu-prof': { type: 'string' },
    'lag-limit': { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
}
