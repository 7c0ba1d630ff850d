import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lane, LANES } from '../../../config/lanes';
import { embeddedAdminUrl } from '../../../scripts/setup/embedded-admin-url';
import { projectRoot } from '../../../scripts/setup/project';
import { choiceOption, lagLimitOption, numberOption, OptionError, parseOptions } from '../../support/options';
import { TOPOLOGIES, type TopologyName } from '../../support/topology';
import type { RunningSystem } from '../harness/system';
import type { Shape } from './schedule';

export const USAGE = `The brownout drill [MC-RT-01]: the tax provider becomes slow while cards are served, and recovers.

  --topology all|isolated  what is started for the drill (default isolated)
  --short                  one pair, lower rate, about 90 s in all; judges counts, shed time and recovery only
  --cards N                authorizations per second (default 1400; with --short 200)
  --quotes N               tax quotes per second in a brownout (default 150)
  --latency MS             of the slow provider (default 8000)
  --pairs N                interleaved pairs of a quiet and a brownout phase (default 5)
  --phase S                length of each of those (default 30)
  --main S                 length of the long brownout (default 120)
  --lag-limit MS           p99 of the generator's own lag beyond which the run is void (default 5; with --short 100)
  --out DIR                where latest.json and the report go (default drill-results)

A system that runs already, instead of one that is brought:
  --authorization-url URL, --fraud-url URL, --tax-url URL, --ledger-url URL   or --url URL for all of them
  --provider-url URL       the control of its provider's simulator
  --token-file FILE        a fresh caller's token for authorizations,tax: the audit counts that caller's rows
  --admin-database-url URL default: the embedded PostgreSQL of this folder

Exit code: 0 every limit holds, 1 one does not or the drill could not be done, 2 void: the generator lagged.`;

export interface Options {
  readonly topology: TopologyName;
  /** Null: the drill brings its own. */
  readonly running: RunningSystem | null;
  readonly short: boolean;
  readonly cardsPerS: number;
  readonly quotesPerS: number;
  readonly latencyMs: number;
  readonly shape: Shape;
  readonly warmupS: number;
  readonly lagP99MsMax: number;
  readonly folder: string;
}

const FULL = {
  cards: 1_400,
  pairs: 5,
  phaseS: 30,
  mainS: 120,
  warmS: 5,
  settleS: 6,
  recoveryS: 15,
  warmupS: 10,
  lag: 5,
};
/** Continuous integration has two cores, on which other tests run meanwhile. */
const SHORT = {
  cards: 200,
  pairs: 1,
  phaseS: 10,
  mainS: 20,
  warmS: 3,
  settleS: 6,
  recoveryS: 10,
  warmupS: 3,
  lag: 100,
};

/** @throws OptionError; null where only help was asked for. */
export function readOptions(argv: readonly string[]): Options | null {
  const values = parse(argv);
  if (values.help === true) return null;
  const short = values.short === true;
  const usual = short ? SHORT : FULL;
  const seconds = (name: 'phase' | 'main', text: string | undefined, fallback: number): number =>
    Math.round(numberOption(name, text, fallback, { min: 5, max: 3_600 }));
  return {
    topology: choiceOption('topology', values.topology, 'isolated', TOPOLOGIES),
    running: readRunning(values),
    short,
    cardsPerS: numberOption('cards', values.cards, usual.cards, { min: 1, max: 5_000 }),
    quotesPerS: numberOption('quotes', values.quotes, 150, { min: 1, max: 2_000 }),
    latencyMs: numberOption('latency', values.latency, 8_000, { min: 100, max: 60_000 }),
    shape: {
      warmS: usual.warmS,
      pairs: Math.round(numberOption('pairs', values.pairs, usual.pairs, { min: 0, max: 20 })),
      phaseS: seconds('phase', values.phase, usual.phaseS),
      settleS: usual.settleS,
      mainS: seconds('main', values.main, usual.mainS),
      recoveryS: usual.recoveryS,
    },
    warmupS: usual.warmupS,
    lagP99MsMax: lagLimitOption(values['lag-limit'], usual.lag),
    folder: values.out ?? join(projectRoot, 'drill-results'),
  };
}

type Values = ReturnType<typeof parse>;

function readRunning(values: Values): RunningSystem | null {
  const given = (lane: Lane): string | undefined => values[`${lane}-url`] ?? values.url;
  if (LANES.every((lane) => given(lane) === undefined)) return null;
  const missing = LANES.filter((lane) => given(lane) === undefined).map((lane) => `--${lane}-url`);
  const { 'provider-url': providerUrl, 'token-file': tokenFile } = values;
  if (providerUrl === undefined) missing.push('--provider-url');
  if (tokenFile === undefined) missing.push('--token-file');
  const adminUrl = values['admin-database-url'] ?? embeddedAdminUrl(join(projectRoot, '.data'));
  if (adminUrl === null) missing.push('--admin-database-url');
  if (missing.length > 0 || providerUrl === undefined || tokenFile === undefined || adminUrl === null) {
    throw new OptionError(`for a system that runs already ${missing.join(', ')} is missing`);
  }
  const urls = Object.fromEntries(LANES.map((lane) => [lane, given(lane)?.replace(/\/+$/, '')]));
  const token = readFileSync(tokenFile, 'utf8').trim();
  return { urls: urls as Record<Lane, string>, providerUrl, adminUrl, token };
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  return parseOptions(argv, {
    topology: text,
    short: { type: 'boolean' },
    cards: text,
    quotes: text,
    latency: text,
    pairs: text,
    phase: text,
    main: text,
    'lag-limit': text,
    out: text,
    url: text,
    'authorization-url': text,
    'fraud-url': text,
    'tax-url': text,
    'ledger-url': text,
    'provider-url': text,
    'token-file': text,
    'admin-database-url': text,
    help: { type: 'boolean', short: 'h' },
  });
}
