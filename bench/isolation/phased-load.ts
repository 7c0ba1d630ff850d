import { readFileSync, writeFileSync } from 'node:fs';
import { runLoad } from '../load/generator';
import { buildPlan, parsePlanFile } from '../load/plan-file';
import type { AnswerEvent } from '../load/target-runner';
import { AnswerLog } from './answer-log';

/*
 * The generator of the isolation benchmark, a process of its own: one load over all phases, of which it keeps each answer
 * with the time it was due, so that phases can be cut out of it afterwards. Tells its parent when the measured time began.
 *
 * Arguments: plan file, key prefix, result file, file for the answers.
 */

async function main([planFile, keyPrefix, resultFile, answersFile]: readonly (string | undefined)[]): Promise<void> {
  if (planFile === undefined || keyPrefix === undefined || resultFile === undefined || answersFile === undefined) {
    throw new Error('plan file, key prefix, result file and answers file are needed');
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(signal, () => interrupt.abort());
  const plan = buildPlan(parsePlanFile(readFileSync(planFile, 'utf8')), keyPrefix, 1);
  const log = new AnswerLog();
  let told = false;
  const onAnswer = ({ latencyMs, status, measured }: AnswerEvent): void => {
    if (!measured) return;
    const dueMs = performance.timeOrigin + performance.now() - latencyMs;
    // The first measured request is due when the measured time begins; in a healthy system it is among the first answered.
    if (!told) process.send?.({ type: 'measuring', atMs: dueMs });
    told = true;
    log.add(dueMs, latencyMs, status < 300);
  };
  const result = await runLoad(plan, { hooks: { onAnswer }, signal: interrupt.signal });
  log.write(answersFile);
  writeFileSync(resultFile, JSON.stringify(result));
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
