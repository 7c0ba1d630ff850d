import { randomBytes } from 'node:crypto';
import { createWriteStream, readFileSync, writeFileSync, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { runLoad } from './generator';
import { PlanError, type LoadPlan } from './plan';
import { buildPlan, parsePlanFile, parseTargetText, type PlanFile } from './plan-file';
import { renderTable } from './report';
import { type LoadHooks } from './target-runner';

export const USAGE = `Open-loop load, measured from the scheduled send time.

  --target name=authorizations,url=http://127.0.0.1:3001/v1/authorizations,rate=1400,token=…
           repeatable; further members: payload (authorizations, tax-quotes, fraud-evaluations; default: the name),
           tokenFile, durationS, steps=60@1400/30@1400-4000, connections, inFlightMax, connectMsMax, answerMsMax, retries=true
  --plan FILE       the same as JSON: { warmupS, lagP99MsMax, targets: [{ name, url, rate, … , stages }] }
  --duration S      for targets that name none (default 10)
  --warmup S        sent first and left out of the figures (default 0)
  --lag-limit MS    p99 of the generator's own lag beyond which the run is void (default 5)
  --out FILE        the result as JSON
  --answers FILE    one JSON line per answer (target, key, attempt, status, code, id, latencyMs), for audits
  --json            the result as JSON on standard output, the table on standard error
  --allow-remote    permit targets that are not on the loopback

Exit code: 0 valid, 1 the run could not be made, 2 the run is void.`;

export interface CommandOutput {
  out: (text: string) => void;
  err: (text: string) => void;
  signal?: AbortSignal;
}

/** The command line as a function; returns the exit code. */
export async function runCommand(argv: readonly string[], output: CommandOutput): Promise<number> {
  let plan: LoadPlan;
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(argv);
    if (options.help === true) {
      output.out(USAGE);
      return 0;
    }
    plan = planOf(options);
  } catch (error) {
    output.err(`${messageOf(error)}\n\n${USAGE}`);
    return 1;
  }
  const answers = options.answers === undefined ? null : createWriteStream(options.answers);
  try {
    const hooks = answers === null ? {} : answerWriter(answers);
    const result = await runLoad(plan, { hooks, ...(output.signal === undefined ? {} : { signal: output.signal }) });
    const json = JSON.stringify(result, null, 2);
    if (options.out !== undefined) writeFileSync(options.out, `${json}\n`);
    if (options.json === true) output.out(json);
    (options.json === true ? output.err : output.out)(renderTable(result));
    return result.void ? 2 : 0;
  } catch (error) {
    output.err(messageOf(error));
    return 1;
  } finally {
    if (answers !== null) {
      answers.end();
      await once(answers, 'close');
    }
  }
}

function readOptions(argv: readonly string[]) {
  return parseArgs({
    args: [...argv],
    options: {
      target: { type: 'string', multiple: true },
      plan: { type: 'string' },
      duration: { type: 'string' },
      warmup: { type: 'string' },
      'lag-limit': { type: 'string' },
      out: { type: 'string' },
      answers: { type: 'string' },
      json: { type: 'boolean' },
      'allow-remote': { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  }).values;
}

const DURATION_S_DEFAULT = 10;

function planOf(options: ReturnType<typeof readOptions>): LoadPlan {
  const file: PlanFile =
    options.plan === undefined ? { targets: [] } : parsePlanFile(readFileSync(options.plan, 'utf8'));
  const targets = [...file.targets, ...(options.target ?? []).map(parseTargetText)];
  const warmupS = numberOf('warmup', options.warmup) ?? file.warmupS;
  const lagP99MsMax = numberOf('lag-limit', options['lag-limit']) ?? file.lagP99MsMax;
  const plan = buildPlan(
    { ...file, warmupS, lagP99MsMax, targets, allowRemote: options['allow-remote'] ?? file.allowRemote },
    `load-${randomBytes(6).toString('hex')}`,
    numberOf('duration', options.duration) ?? DURATION_S_DEFAULT,
  );
  return options.answers === undefined
    ? plan
    : { ...plan, targets: plan.targets.map((target) => ({ ...target, collectBodies: true })) };
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) throw new PlanError(`--${name} is "${text}", not a number`);
  return value;
}

function answerWriter(stream: WriteStream): LoadHooks {
  return {
    onAnswer: ({ target, key, attempt, status, code, latencyMs, body, measured }) => {
      // The id is the first member of every answer of the lanes; parsing each body whole would cost the generator more.
      const id = body === null ? null : (/"id":"([^"\\]{1,64})"/.exec(body)?.[1] ?? null);
      const line = {
        target,
        key,
        attempt,
        status,
        code,
        id,
        latencyMs: Math.round(latencyMs * 1_000) / 1_000,
        measured,
      };
      stream.write(`${JSON.stringify(line)}\n`);
    },
    onUnknown: ({ target, key, attempt, reason, measured }) => {
      stream.write(`${JSON.stringify({ target, key, attempt, status: null, unknown: reason, measured })}\n`);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
