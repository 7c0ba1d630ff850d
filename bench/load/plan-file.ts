import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { namedPayloads } from './payloads';
import { planDefaults, PlanError, targetDefaults, type LoadPlan, type Stage, type TargetPlan } from './plan';

const stageFile = z.strictObject({ durationS: z.number(), rate: z.number(), rateEnd: z.number().optional() });

const targetFile = z.strictObject({
  name: z.string(),
  url: z.string(),
  /** A name of {@link namedPayloads}; the target's own name unless given. */
  payload: z.string().optional(),
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  rate: z.number().optional(),
  durationS: z.number().optional(),
  stages: z.array(stageFile).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  connections: z.int().optional(),
  inFlightMax: z.int().optional(),
  connectMsMax: z.number().optional(),
  answerMsMax: z.number().optional(),
  retries: z.boolean().optional(),
  keys: z.boolean().optional(),
});

const planFile = z.strictObject({
  warmupS: z.number().optional(),
  lagP99MsMax: z.number().optional(),
  allowRemote: z.boolean().optional(),
  targets: z.array(targetFile),
});

export type TargetFile = z.infer<typeof targetFile>;
export type PlanFile = z.infer<typeof planFile>;

/** Reads a plan as JSON. Throws {@link PlanError} with every fault of form. */
export function parsePlanFile(text: string): PlanFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PlanError(`the plan is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return checked(planFile, value);
}

/**
 * Reads `name=…,url=…,rate=…,…`: the members of a target in a plan file, plus `steps=60@1400/30@1400-4000`
 * (seconds@rate, or a ramp seconds@from-to) in place of `stages`.
 */
export function parseTargetText(text: string): TargetFile {
  const members: Record<string, unknown> = {};
  for (const part of text.split(',')) {
    const equals = part.indexOf('=');
    if (equals < 1) throw new PlanError(`"${part}" is not of the form member=value`);
    const name = part.slice(0, equals);
    const value = part.slice(equals + 1);
    if (name === 'steps') members['stages'] = value.split('/').map(parseStep);
    else members[name] = typed(name, value);
  }
  return checked(targetFile, members);
}

/** Fills in defaults. `keyPrefix` makes the run's idempotency keys its own. */
export function buildPlan(file: PlanFile, keyPrefix: string, defaultDurationS: number): LoadPlan {
  return {
    warmupS: file.warmupS ?? planDefaults.warmupS,
    lagP99MsMax: file.lagP99MsMax ?? planDefaults.lagP99MsMax,
    allowRemote: file.allowRemote ?? planDefaults.allowRemote,
    targets: file.targets.map((target) => buildTarget(target, keyPrefix, defaultDurationS)),
  };
}

function buildTarget(target: TargetFile, keyPrefix: string, defaultDurationS: number): TargetPlan {
  const payloadName = target.payload ?? target.name;
  const payload = namedPayloads[payloadName];
  if (payload === undefined) {
    throw new PlanError(
      `${target.name}: no payload "${payloadName}"; there are ${Object.keys(namedPayloads).join(', ')}`,
    );
  }
  const token = target.tokenFile === undefined ? target.token : readFileSync(target.tokenFile, 'utf8').trim();
  return {
    ...targetDefaults,
    name: target.name,
    url: target.url,
    stages: stagesOf(target, defaultDurationS),
    payload: payload(`${keyPrefix}-${target.name}`),
    headers: {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...target.headers,
    },
    connections: target.connections ?? Math.min(targetDefaults.connections, target.inFlightMax ?? Infinity),
    inFlightMax: target.inFlightMax ?? targetDefaults.inFlightMax,
    connectMsMax: target.connectMsMax ?? targetDefaults.connectMsMax,
    answerMsMax: target.answerMsMax ?? targetDefaults.answerMsMax,
    retries: target.retries ?? targetDefaults.retries,
    keys: target.keys ?? targetDefaults.keys,
  };
}

function stagesOf(target: TargetFile, defaultDurationS: number): readonly Stage[] {
  if (target.stages !== undefined) {
    if (target.rate !== undefined) throw new PlanError(`${target.name}: either a rate or stages, not both`);
    return target.stages.map(({ durationS, rate, rateEnd }) => ({
      durationS,
      rate,
      ...(rateEnd === undefined ? {} : { rateEnd }),
    }));
  }
  if (target.rate === undefined) throw new PlanError(`${target.name}: neither a rate nor stages`);
  return [{ durationS: target.durationS ?? defaultDurationS, rate: target.rate }];
}

const STEP = /^(\d+(?:\.\d+)?)@(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?$/;

function parseStep(text: string): Stage {
  const match = STEP.exec(text);
  if (match === null) throw new PlanError(`step "${text}" is neither seconds@rate nor seconds@from-to`);
  const stage = { durationS: Number(match[1]), rate: Number(match[2]) };
  return match[3] === undefined ? stage : { ...stage, rateEnd: Number(match[3]) };
}

function typed(name: string, value: string): unknown {
  const schema: z.ZodType | undefined = Object.hasOwn(targetFile.shape, name)
    ? targetFile.shape[name as keyof typeof targetFile.shape]
    : undefined;
  if (schema === undefined) return value;
  if (schema.safeParse(value).success) return value;
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value);
  return value.trim() === '' || Number.isNaN(number) ? value : number;
}

function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PlanError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
}
