import { TaxSimulatorProcess } from '../../../scripts/setup/launcher/tax-simulator';
import { freePort } from '../../../scripts/setup/os/ports';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { projectRoot } from '../../../scripts/setup/project';
import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { install } from '../../support/installation';
import { choiceOption, lagLimitOption, numberOption, parseOptions } from '../../support/options';
import { resultHead, writeResult } from '../../support/results';
import { TOPOLOGIES, type TopologyName } from '../../support/topology';
import { runCommand } from '../../support/run-command';
import { startOn } from '../harness/system';
import { renderVerdict } from '../recovery/print';
import { exitCodeOf } from '../recovery/figures';
import { fraudOverload } from './fraud-overload';
import type { Incident, IncidentShape } from './incident';
import { incidentPage } from './incident-page';
import { type IncidentRun, runIncident } from './incident-run';
import { postgresRestart } from './postgres-restart';
import { storms } from './storms';

/** The last one kills the database. */
const incidents: readonly Incident[] = [...storms, fraudOverload, postgresRestart];
const NAMES = incidents.map(({ name }) => name);

const USAGE = `Cards at a constant rate, and an incident beside them; each on processes of its own.

  --incidents LIST   of ${NAMES.join(',')} (default all)
  --topology all|isolated   default isolated
  --cards N          authorizations per second (default 1400)
  --before S, --during S, --after S   cards alone, beside the incident, and after it (default 10, 30, 15)
  --lag-limit MS     p99 of the generator's own lag beyond which a run is void (default 5)
  --short            200/s, 2, 6 and 8 s, a lag of 100 ms; the latency of cards is said and not judged
  --out FILE         default drill-results/incidents.json; a page per incident goes beside it

Exit code: 0 every limit holds, 1 one does not or it could not be done, 2 void.`;

interface Options extends IncidentShape {
  readonly incidents: readonly Incident[];
  readonly topology: TopologyName;
  readonly warmupS: number;
  readonly lagP99MsMax: number;
  /** Counts only: other work on the machine must not decide what is found. */
  readonly short: boolean;
  readonly out: string;
}

const FULL = { cards: 1_400, warmup: 5, before: 10, during: 30, after: 15, lag: 5 };
/** Continuous integration has two cores, on which other tests run meanwhile. */
const SHORT = { cards: 200, warmup: 2, before: 2, during: 6, after: 8, lag: 100 };

function readOptions(argv: readonly string[]): Options | null {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const values = parseOptions(argv, {
    incidents: text,
    topology: text,
    cards: text,
    before: text,
    during: text,
    after: text,
    'lag-limit': text,
    short: flag,
    out: text,
    help: flag,
  });
  if (values.help === true) return null;
  const usual = values.short === true ? SHORT : FULL;
  const seconds = (name: 'before' | 'during' | 'after'): number =>
    Math.round(numberOption(name, values[name], usual[name], { min: 2, max: 600 }));
  const names = (values.incidents?.split(',') ?? NAMES).map((name) => choiceOption('incidents', name, '', NAMES));
  return {
    incidents: incidents.filter(({ name }) => names.includes(name)),
    topology: choiceOption('topology', values.topology, 'isolated', TOPOLOGIES),
    cardsPerS: numberOption('cards', values.cards, usual.cards, { min: 1, max: 5_000 }),
    beforeS: seconds('before'),
    duringS: seconds('during'),
    afterS: seconds('after'),
    warmupS: usual.warmup,
    short: values.short === true,
    lagP99MsMax: lagLimitOption(values['lag-limit'], usual.lag),
    out: values.out ?? join(projectRoot, 'drill-results', 'incidents.json'),
  };
}

async function drill(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('incidents', durability);
  console.log(describeDurability(durability));
  const simulator = await TaxSimulatorProcess.start(await freePort());
  closing.add("the tax provider's simulator", () => simulator.stop());
  const runs: IncidentRun[] = [];
  for (const incident of options.incidents) {
    closing.check();
    const system = await startOn(installation, simulator.url, options.topology, closing);
    try {
      const { recorded, seen } = await runIncident(incident, system, options, closing);
      runs.push(recorded);
      console.log(`\n${recorded.title}\n${renderVerdict(recorded.verdict)}\n${JSON.stringify(recorded.codes)}`);
      writePage(options.out, incident.name, incidentPage(head, seen));
    } finally {
      await system.stop();
    }
    const { incidents: _all, ...shown } = options;
    writeResult(options.out, { ...head, options: shown, runs });
  }
  return Math.max(0, ...runs.map(({ verdict }) => exitCodeOf(verdict)));
}

/** Beside the result, under the incident's name. */
function writePage(out: string, name: string, page: string): void {
  const file = join(dirname(out), `${basename(out, '.json')}-${name}.html`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, page);
  console.log(relative(process.cwd(), file));
}

runCommand(USAGE, readOptions, drill);
