import type { Closing } from '../support/closing';
import { describeDurability, readDurability } from '../support/durability';
import { install } from '../support/installation';
import { describePlace, resultHead, writeResult } from '../support/results';
import { runCommand } from '../support/run-command';
import { type Options, readOptions, USAGE } from './command';
import { type IsolationRun, runIsolation } from './isolation-run';
import { renderIsolation } from './report';

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('isolation', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  const runs: IsolationRun[] = [];
  for (const topology of options.topologies) {
    runs.push(await runIsolation(topology, options, installation, closing));
    writeResult(options.out, { ...head, options, runs });
    console.log(`\n${renderIsolation(runs)}\n`);
  }
  console.log(describePlace(options.out));
  if (runs.some(({ answered201, rows }) => rows < answered201)) {
    console.error('Fewer rows than were answered: authorizations were lost');
    return 1;
  }
  // In `all` the fault reaches the load itself: thousands of requests wait, and connections are refused.
  const isolated = runs.find(({ topology }) => topology === 'isolated');
  return isolated?.void === true && !options.short ? 2 : 0;
}

runCommand(USAGE, readOptions, benchmark);
