import { CANDIDATES } from './candidates/all';
import { measureMemory, measureSpeed, type Effort, type Memory, type Speed } from './measure';

/** What the parent asks of a child: one candidate, by its place in the list. */
export interface Task {
  candidate: number;
  measure: 'speed' | 'memory';
  effort: Effort;
}

/** One process for one measurement: a clean heap, and code that no other candidate has made the compiler generalise. */
async function runTask({ candidate: place, measure, effort }: Task): Promise<Speed | Memory> {
  const candidate = CANDIDATES[place];
  if (candidate === undefined) throw new Error(`no candidate ${place}`);
  if (measure === 'speed') return measureSpeed(candidate, effort);
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('memory is measured with --expose-gc');
  return measureMemory(candidate, effort, () => void gc());
}

process.once('message', (task: Task) => {
  const answer = (message: object): void => {
    process.send?.(message, () => process.exit(0));
  };
  runTask(task).then(
    (result) => answer({ result }),
    (error: unknown) => answer({ error: String(error) }),
  );
});
