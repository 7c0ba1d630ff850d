import { CANDIDATES } from './candidates/all';
import { measureMemory, measureSpeed, type Effort } from './measure';

/** What the parent asks of a child: one candidate, by its place in the list. */
export interface Task {
  candidate: number;
  measure: 'speed' | 'memory';
  effort: Effort;
}

/** One process for one measurement: a clean heap, and code that no other candidate has made the compiler generalise. */
async function runTask({ candidate: place, measure, effort }: Task): Promise<unknown> {
  const candidate = CANDIDATES[place];
  if (candidate === undefined) throw new Error(`no candidate ${place}`);
  if (measure === 'speed') return measureSpeed(candidate, effort);
  if (globalThis.gc === undefined) throw new Error('memory is measured with --expose-gc');
  return measureMemory(candidate, effort, globalThis.gc);
}

process.once('message', (task: Task) => {
  runTask(task).then(
    (result) => process.send?.({ result }, () => process.exit(0)),
    (error: unknown) => process.send?.({ error: String(error) }, () => process.exit(1)),
  );
});
