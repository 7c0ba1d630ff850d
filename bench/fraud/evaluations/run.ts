import { type Closing, runBenchmark } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { type Installation, install } from '../../support/installation';
import { OptionError } from '../../support/options';
import { describePlace, resultHead, writeResult } from '../../support/results';
import { startRole } from '../../support/topology';
import { type Options, readOptions, USAGE } from './command';
import { type LoadRun, type LoadShape, runLoad } from './load-run';
import { renderLoads, renderRuleCost } from './report';
import { measureRuleCost } from './rule-cost';

/** The loads in order, each on a fresh process over the history that those before it left. */
async function loads(
  options: Options,
  installation: Installation,
  closing: Closing,
  onRun: (run: LoadRun) => void,
): Promise<void> {
  const { rate, durationS, warmupS, lagP99MsMax, probeRate, probeS, overload, overloadS } = options;
  const load = async (shape: Omit<LoadShape, 'lagP99MsMax'>): Promise<LoadRun> => {
    const { url, process } = await startRole('fraud', installation, closing);
    const server = { url, pid: () => process.pid };
    const run = await runLoad({ ...shape, lagP99MsMax }, server, installation, closing);
    await process.stop();
    onRun(run);
    return run;
  };
  await load({ what: 'steady', rate, durationS, warmupS });
  if (overload === 0) return;
  const probe = await load({ what: 'probe', rate: probeRate, durationS: probeS, warmupS: Math.min(warmupS, 2) });
  const answered = probe.statuses.find(({ status }) => status === '200')?.count ?? 0;
  const capacity = Math.max(1, Math.round(answered / probeS));
  console.log(`the lane answers ${capacity} evaluations a second where ${probeRate} are sent: its capacity`);
  await load({ what: `${overload} × capacity`, rate: capacity * overload, durationS: overloadS, warmupS: 0 });
}

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const ruleCost = await measureRuleCost();
  console.log(renderRuleCost(ruleCost));
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('fraud-evaluations', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  const runs: LoadRun[] = [];
  await loads(options, installation, closing, (run) => {
    runs.push(run);
    writeResult(options.out, { ...head, options, ruleCost, runs });
    console.log(`\n${renderLoads([run])}`);
  });
  console.log(describePlace(options.out));
  if (runs.some(({ audit }) => !audit.passed)) return 1;
  return runs.some((run) => run.void) && !options.short ? 2 : 0;
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === null) console.log(USAGE);
  else void runBenchmark((closing) => benchmark(options, closing));
} catch (error) {
  if (!(error instanceof OptionError)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 1;
}
