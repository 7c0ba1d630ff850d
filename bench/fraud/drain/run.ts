import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { install } from '../../support/installation';
import { describePlace, resultHead, writeResult } from '../../support/results';
import { runCommand } from '../../support/run-command';
import { type Options, readOptions, USAGE } from './command';
import { type DrainRun, runDrain } from './drain-run';
import { FraudServer } from './fraud-server';
import { renderDrains } from './report';

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('fraud-drain', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  const server = await FraudServer.start(installation, closing);
  const runs: DrainRun[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const kind of ['alone', 'beside the load'] as const) {
      runs.push(await runDrain(kind, server, options, installation, closing));
      writeResult(options.out, { ...head, options, runs });
      console.log(`\n${renderDrains(runs)}`);
    }
  }
  console.log(describePlace(options.out));
  const sound = runs.every(
    ({ withOneResult, backlog, failedJobs }) => withOneResult === backlog.accepted && failedJobs === 0,
  );
  if (!sound) {
    console.error('Evaluations that were accepted were lost, doubled or given up');
    return 1;
  }
  return runs.some((run) => run.void) && !options.short ? 2 : 0;
}

runCommand(USAGE, readOptions, benchmark);
