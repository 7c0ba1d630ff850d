import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Closing } from '../../support/closing';
import { describeDurability, readDurability } from '../../support/durability';
import { resultHead, writeResult } from '../../support/results';
import { runCommand } from '../../support/run-command';
import { bringSystem, runningSystem } from '../harness/system';
import { type Options, readOptions, USAGE } from './command';
import { exitCodeOf, judge } from './figures';
import { measuredOf } from './measured';
import { renderPairs, renderVerdict } from './print';
import { runRecovery } from './recovery-run';
import { recoveryPage } from './recovery-page';

async function drill(options: Options, closing: Closing): Promise<number> {
  const { running, topology, folder, short } = options;
  const system = running === null ? await bringSystem(topology, closing) : runningSystem(running, closing);
  const durability = await readDurability(system.adminUrl);
  const head = await resultHead('bulkhead-recovery', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  console.log(`topology ${system.topology}, commit ${head.commit ?? 'unknown'}`);
  const run = await runRecovery(system, options, closing);
  const verdict = judge(measuredOf(run), short);
  const { running: _secret, ...shown } = options;
  const { cut, audit, alerts, connections, load } = run;
  const details = { pairs: cut.phases, audit, alerts, connections, generator: load.generator, targets: load.targets };
  writeResult(join(folder, 'latest.json'), { ...verdict, ...head, topology: system.topology, options: shown, details });
  const page = join(folder, 'latest.html');
  writeFileSync(page, recoveryPage({ head, options, run, verdict }));
  console.log(`\n${renderPairs(run)}\n\n${renderVerdict(verdict)}`);
  console.log(`\n${relative(process.cwd(), join(folder, 'latest.json'))}, ${relative(process.cwd(), page)}`);
  return exitCodeOf(verdict);
}

runCommand(USAGE, readOptions, drill);
