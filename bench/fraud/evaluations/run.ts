import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { type Installation, install } from '../../support/installation';
import { describePlace, resultHead, writeResult } from '../../support/results';
import { startRole } from '../../support/topology';
import { runCommand } from '../../support/run-command';
import { measureCapacity } from './capacity';
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
  const { rate, durationS, warmupS, lagP99MsMax, probeS, overload, overloadS } = options;
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
  const { url, process } = await startRole('fraud', installation, closing);
  const capacity = await measureCapacity(url, await installation.token('capacity', ['fraud']), probeS);
  await process.stop();
  console.log(`\nthe lane's capacity: ${capacity} evaluations a second, with as many callers as permits`);
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

runCommand(USAGE, readOptions, benchmark);
