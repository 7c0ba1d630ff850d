import { TaxSimulatorProcess } from '../../../scripts/setup/launcher/tax-simulator';
import { freePort } from '../../../scripts/setup/os/ports';
import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { install } from '../../support/installation';
import { numberOption, parseOptions } from '../../support/options';
import { describePlace, recordedFile, resultHead, writeResult } from '../../support/results';
import { percentCell, renderTable } from '../../support/table';
import { runCommand } from '../../support/run-command';
import { type ComparisonRun, runComposition, type Shape } from './comparison-run';
import { compositions } from './compositions';

const USAGE = `The seed's comparison, measured: the same load on four compositions of the same product, one after another.

  --cards N      authorizations per second (default 1400)
  --quotes N     tax quotes per second in the brownout (default 150)
  --latency MS   of the slow provider (default 8000)
  --quiet S      cards alone (default 15)
  --brownout S   cards beside the brownout (default 30)
  --short        200/s, 5 s and 8 s: only to show that this still works
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
    latencyMs: numberOption('latency', values.latency, 8_000, { min: 100, max: 60_000 }),
    warmupS: short ? 2 : 10,
    quietS: Math.round(numberOption('quiet', values.quiet, short ? 5 : 15, { min: 1, max: 600 })),
    brownoutS: Math.round(numberOption('brownout', values.brownout, short ? 8 : 30, { min: 1, max: 600 })),
    lagP99MsMax: short ? 100 : LAG_P99_MS_MAX,
    short,
    out: values.out ?? (short ? null : recordedFile('compositions')),
  };
}

function render(runs: readonly ComparisonRun[]): string {
  const head = [
    'composition',
    'quiet p99, ms',
    'brownout p99, ms',
    'cards that succeed',
    'in use',
    'connections',
    'MiB',
  ];
  const rows = runs.map((run) => [
    run.composition,
    run.quiet.cards?.p99.toFixed(1) ?? '-',
    run.brownout.cards?.p99.toFixed(1) ?? '-',
    percentCell(run.brownout.succeededShare),
    String(run.permitsInUseMax),
    String(run.connectionsInUseMax),
    String(run.rssMiBMax),
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
