import { once } from 'node:events';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { runLoad } from '../../load/generator';
import { buildPlan, parsePlanFile } from '../../load/plan-file';
import type { AnswerEvent, UnknownEvent } from '../../load/target-runner';
import { AnswerLog } from './answer-log';

/*
 * The generator of the drills, a process of its own: one load over all phases. It keeps each answer with the time it was
 * due, so that phases can be cut out of it afterwards, and writes what the audit of the first target needs. Tells its
 * parent when the measured time began.
 *
 * Arguments: plan file, key prefix, result file, file for the answers, file for the audit.
 */

/** A server that invents codes must not make the list grow without bound. */
const CODES_MAX = 100;
const ESTIMATE = '"source":"CACHED_COMPENSATION"';

class Codes {
  readonly names: string[] = [''];

  indexOf(code: string | null): number {
    if (code === null) return 0;
    const known = this.names.indexOf(code);
    if (known !== -1 || this.names.length === CODES_MAX) return Math.max(known, 0);
    return this.names.push(code) - 1;
  }
}

async function main(files: readonly string[]): Promise<void> {
  const [planFile, keyPrefix, resultFile, logFile, auditFile] = files;
  if (!planFile || !keyPrefix || !resultFile || !logFile || !auditFile) throw new Error('five arguments are needed');
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(signal, () => interrupt.abort());
  const built = buildPlan(parsePlanFile(readFileSync(planFile, 'utf8')), keyPrefix, 1);
  const audited = built.targets[0]?.name;
  const plan = {
    ...built,
    targets: built.targets.map((target) => ({ ...target, collectBodies: target.name === audited })),
  };
  const indexes = new Map(plan.targets.map(({ name }, index) => [name, index]));
  const log = new AnswerLog();
  const codes = new Codes();
  const audit = createWriteStream(auditFile);
  let told = false;

  const onAnswer = (event: AnswerEvent): void => {
    const { target, key, attempt, status, code, latencyMs, serviceMs, body, measured } = event;
    if (target === audited) {
      const id = body === null || status >= 300 ? null : (/"id":"([^"\\]{1,64})"/.exec(body)?.[1] ?? null);
      audit.write(`${JSON.stringify({ key, status, id })}\n`);
    }
    if (!measured) return;
    const dueMs = performance.timeOrigin + performance.now() - latencyMs;
    // The first measured request is due when the measured time begins; in a healthy system it is among the first answered.
    if (!told) process.send?.({ type: 'measuring', atMs: dueMs });
    told = true;
    const estimate = status >= 300 && (body?.includes(ESTIMATE) ?? false);
    const row = { target: indexes.get(target) ?? 0, dueMs, latencyMs, serviceMs, status, attempt, estimate };
    log.add({ ...row, code: codes.indexOf(code) });
  };
  const onUnknown = ({ target, key }: UnknownEvent): void => {
    if (target === audited) audit.write(`${JSON.stringify({ key, status: null, id: null })}\n`);
  };

  const result = await runLoad(plan, { hooks: { onAnswer, onUnknown }, signal: interrupt.signal });
  log.write(logFile);
  audit.end();
  await once(audit, 'close');
  writeFileSync(resultFile, JSON.stringify({ ...result, codes: codes.names }));
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
