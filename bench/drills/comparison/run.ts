import { TaxSimulatorProcess } from '../../../scripts/setup/launcher/tax-simulator';
import { freePort } from '../../../scripts/setup/os/ports';
import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { install } from '../../support/installation';
import { numberOption, parseOptions } from '../../support/options';
import { describePlace, recordedFile, resultHead, writeResult } from '../../support/results';
import { cell, percentCell, renderTable } from '../../support/table';
import { runCommand } from '../../support/run-command';
import { type ComparisonRun, runComposition, type Shape } from './comparison-run';
import { compositions } from './compositions';

const USAGE = `The seed's comparison, measured: the same load on four compositions of the same product, one after another.

  --cards N      authorizations per second (default 1400)
  --quotes N     tax quotes per second in the brownout (default 150)
  --evaluations N   fraud evaluations per second, throughout (default 50)
  --latency MS   of the slow provider (default 8000)
  --quiet S      cards alone (default 15)
  --brownout S   cards beside the brownout (default 30)
  --short        200/s, 2 s and 6 s: only to show that this still works
  --out FILE     the result as JSON (default bench/results/compositions.json; with --short none)`;

interface Options extends Shape {
  readonly short: boolean;
  readonly out: string | null;
}

const LAG_P99_MS_MAX = 5;

function readOptions(argv: readonly string[]): Options | null {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const values = parseOptions(argv, {
    cards: text,
    quotes: text,
    evaluations: text,
    latency: text,
    quiet: text,
    brownout: text,
    short: flag,
    out: text,
    help: flag,
  });
  if (values.help === true) return null;
  const short = values.short === true;
  return {
    cardsPerS: numberOption('cards', values.cards, short ? 200 : 1_400, { min: 1, max: 5_000 }),
    quotesPerS: numberOption('quotes', values.quotes, 150, { min: 1, max: 2_000 }),
    evaluationsPerS: numberOption('evaluations', values.evaluations, short ? 20 : 50, { min: 1, max: 1_000 }),
    latencyMs: numberOption('latency', values.latency, 8_000, { min: 100, max: 60_000 }),
    warmupS: short ? 1 : 10,
    quietS: Math.round(numberOption('quiet', values.quiet, short ? 2 : 15, { min: 1, max: 600 })),
    brownoutS: Math.round(numberOption('brownout', values.brownout, short ? 6 : 30, { min: 1, max: 600 })),
    lagP99MsMax: short ? 100 : LAG_P99_MS_MAX,
    short,
    out: values.out ?? (short ? null : recordedFile('compositions')),
  };
}

function render(runs: readonly ComparisonRun[]): string {
  const head = [
    'composition',
    'harmed lanes',
    'cards that succeed',
    'evaluations',
    'quiet p99, ms',
    'brownout p99, ms',
    'permits',
    'connections',
    'MiB, cards',
    'MiB, all lanes',
  ];
  const rows = runs.map((run) => [
    run.composition,
    run.harmedLanes.join('+'),
    percentCell(run.brownout.succeededShare),
    percentCell(run.brownout.evaluationsShare),
    cell(run.quiet.cards?.p99),
    cell(run.brownout.cards?.p99),
    `${run.permitsInUseMax}/${run.permits}`,
    `${run.connectionsInUseMax}/${run.connections}`,
    String(run.rssMiBMax),
    String(run.rssAllLanesMiBMax),
  ]);
  const notes = runs.map(({ composition, cardAnswers, voidReason, audit }) => {
    const sound = voidReason === null ? 'valid' : `VOID: ${voidReason}`;
    return `${composition}: ${JSON.stringify(cardAnswers)}; audit ${audit.passed ? 'passed' : 'FAILED'}; load ${sound}`;
  });
  return [renderTable([head, ...rows]), ...notes].join('\n');
}

async function compare(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('compositions', durability);
  console.log(describeDurability(durability));
  const simulator = await TaxSimulatorProcess.start(await freePort());
  closing.add("the tax provider's simulator", () => simulator.stop());
  const runs: ComparisonRun[] = [];
  for (const composition of compositions) {
    runs.push(await runComposition(composition, simulator.url, options, installation, closing));
    writeResult(options.out, { ...head, options, runs });
    console.log(`\n${render(runs)}`);
  }
  console.log(describePlace(options.out));
  const lost = runs.some(({ audit }) => !audit.passed);
  // Compositions without isolation make the load itself overflow: only ours must be sound.
  const unsound = runs.slice(-2).some(({ voidReason }) => voidReason !== null);
  return lost ? 1 : unsound && !options.short ? 2 : 0;
}

runCommand(USAGE, readOptions, compare);
