import { lagLimitOption, numberOption, parseOptions } from '../../support/options';
import { recordedFile } from '../../support/results';

export const USAGE = `Fraud evaluations, open loop, on a durable PostgreSQL and Redis of its own: what a rule costs, a steady
rate, and more than the lane can take.

  --rate N          evaluations per second of the steady load (default 600)
  --duration S      its measured time (default 60)
  --warmup S        sent first and left out of the figures (default 10)
  --probe S         time in which the lane's capacity is found, with as many callers as permits (default 10)
  --overload N      times the capacity in the overload (default 2; 0 leaves it out)
  --overload-duration S  (default 60)
  --lag-limit MS    p99 of the generator's own lag beyond which a load is void (default 5; more is for trying only)
  --short           100/s for 5 s, a probe and an overload of 3 s: only to show that this still works
  --out FILE        the result as JSON (default bench/results/fraud-evaluations.json; with --short none)

Exit code: 0 done, 1 it could not be done or an audit failed, 2 a load was void (with --short: 0).`;

export interface Options {
  readonly rate: number;
  readonly durationS: number;
  readonly warmupS: number;
  readonly probeS: number;
  readonly overload: number;
  readonly overloadS: number;
  readonly lagP99MsMax: number;
  readonly short: boolean;
  readonly out: string | null;
}

const SHORT = { rate: 100, durationS: 5, warmupS: 2, probeS: 3, overloadS: 3 } as const;
const LONG = { rate: 600, durationS: 60, warmupS: 10, probeS: 10, overloadS: 60 } as const;

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  const usual = short ? SHORT : LONG;
  return {
    rate: numberOption('rate', values.rate, usual.rate, { min: 1, max: 20_000 }),
    durationS: numberOption('duration', values.duration, usual.durationS, { min: 1, max: 3_600 }),
    warmupS: numberOption('warmup', values.warmup, usual.warmupS, { min: 0, max: 600 }),
    probeS: numberOption('probe', values.probe, usual.probeS, { min: 1, max: 600 }),
    overload: numberOption('overload', values.overload, 2, { min: 0, max: 10 }),
    overloadS: numberOption('overload-duration', values['overload-duration'], usual.overloadS, { min: 1, max: 3_600 }),
    lagP99MsMax: lagLimitOption(values['lag-limit']),
    short,
    out: values.out ?? (short ? null : recordedFile('fraud-evaluations')),
  };
}

function parse(argv: readonly string[]) {
  return parseOptions(argv, {
    rate: { type: 'string' },
    duration: { type: 'string' },
    warmup: { type: 'string' },
    probe: { type: 'string' },
    overload: { type: 'string' },
    'overload-duration': { type: 'string' },
    'lag-limit': { type: 'string' },
    short: { type: 'boolean' },
    out: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
}
