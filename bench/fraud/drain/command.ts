import { lagLimitOption, numberOption, parseOptions } from '../../support/options';
import { recordedFile } from '../../support/results';

export const USAGE = `A backlog of fraud-overflow worked off, alone and beside evaluations at a constant rate (open loop).

  --backlog N       evaluations that were answered "later" (default 9000; 10,000 may wait)
  --rate N          evaluations per second beside the drain (default 200)
  --quiet S         seconds of that load before the drain begins, to compare with (default 10)
  --duration S      the whole load, long enough for the backlog to be gone (default 60)
  --rounds N        drains alone and drains beside the load, in turn (default 3)
  --lag-limit MS    p99 of the generator's own lag beyond which a load is void (default 5; more is for trying only)
  --short           500 of backlog, 50/s for 8 s, one round: only to show that this still works
  --out FILE        the result as JSON (default bench/results/fraud-drain.json; with --short none)

Exit code: 0 done, 1 it could not be done or something was lost or doubled, 2 a load was void (with --short: 0).`;

export interface Options {
  readonly backlog: number;
  readonly rate: number;
  readonly quietS: number;
  readonly durationS: number;
  readonly rounds: number;
  readonly lagP99MsMax: number;
  readonly short: boolean;
  readonly out: string | null;
}

const SHORT = { backlog: 500, rate: 50, quietS: 3, durationS: 8, rounds: 1 } as const;
const LONG = { backlog: 9_000, rate: 200, quietS: 10, durationS: 60, rounds: 3 } as const;

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  const fallback = short ? SHORT : LONG;
  return {
    backlog: numberOption('backlog', values.backlog, fallback.backlog, { min: 1, max: 9_900 }),
    rate: numberOption('rate', values.rate, fallback.rate, { min: 1, max: 5_000 }),
    quietS: numberOption('quiet', values.quiet, fallback.quietS, { min: 2, max: 600 }),
    durationS: numberOption('duration', values.duration, fallback.durationS, { min: 5, max: 3_600 }),
    rounds: numberOption('rounds', values.rounds, fallback.rounds, { min: 1, max: 100 }),
    lagP99MsMax: lagLimitOption(values['lag-limit']),
    short,
    out: values.out ?? (short ? null : recordedFile('fraud-drain')),
  };
}

function parse(argv: readonly string[]) {
  return parseOptions(argv, {
    backlog: { type: 'string' },
    rate: { type: 'string' },
    quiet: { type: 'string' },
    duration: { type: 'string' },
    rounds: { type: 'string' },
    'lag-limit': { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
}
