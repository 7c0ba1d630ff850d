import { type PayloadFactory } from './payloads';

/** A stretch of constant rate, or a ramp where `rateEnd` differs from `rate`. */
export interface Stage {
  durationS: number;
  /** Requests per second at the start of the stage. */
  rate: number;
  /** Requests per second at its end; the same as `rate` unless given. */
  rateEnd?: number;
}

export interface TargetPlan {
  name: string;
  url: string;
  method: 'GET' | 'POST';
  stages: readonly Stage[];
  payload: PayloadFactory;
  /** Sent with every request; the key, the attempt and the length are added per request. */
  headers: Readonly<Record<string, string>>;
  /** Opened before the run. */
  connections: number;
  /** Requests without an answer; one more is not sent, counts as overflow and voids the run. */
  inFlightMax: number;
  /** For opening the connections before the run; one opened during it is under its request's `answerMsMax`. */
  connectMsMax: number;
  /** From handing a request to the network; without an answer by then its outcome is unknown. */
  answerMsMax: number;
  /** Refused requests obey `Retry-After` and are sent again under the same key, at most three times. */
  retries: boolean;
  /** False: no `Idempotency-Key` goes along, as of a caller that the platform does not process (contract 8). */
  keys: boolean;
  /** Hand 2xx bodies to the hook; bodies of other answers are always read, for their problem code. */
  collectBodies: boolean;
}

export interface LoadPlan {
  targets: readonly TargetPlan[];
  /** Sent at the first stage's starting rate before the stages, and left out of every figure. */
  warmupS: number;
  /** A run of which more than 1 % of the requests left later than this is void. */
  lagP99MsMax: number;
  /** Load on any host but the loopback is refused unless this is true. */
  allowRemote: boolean;
}

export const targetDefaults = {
  method: 'POST',
  headers: {},
  connections: 64,
  inFlightMax: 2_000,
  connectMsMax: 2_000,
  /** Above the 10 s after which a lane itself answers 504. */
  answerMsMax: 15_000,
  retries: false,
  keys: true,
  collectBodies: false,
} as const;

export const planDefaults = { warmupS: 0, lagP99MsMax: 5, allowRemote: false } as const;

/** Whatever a plan says, a run stays within these. */
export const planLimits = {
  targetsMax: 16,
  /** A storm of bursts is two stages for each of them. */
  stagesMax: 4_000,
  rateMax: 50_000,
  durationSMax: 4 * 3_600,
  inFlightMax: 10_000,
  answerMsMax: 120_000,
  retriesMax: 3,
  retryAfterSMax: 60,
  retriesWaitingMax: 50_000,
} as const;

export class PlanError extends Error {}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** Throws {@link PlanError} with every fault of the plan. */
export function checkPlan(plan: LoadPlan): void {
  const faults: string[] = [];
  within(faults, 'warmupS', plan.warmupS, 0, planLimits.durationSMax);
  within(faults, 'lagP99MsMax', plan.lagP99MsMax, 0.1, 60_000);
  within(faults, 'number of targets', plan.targets.length, 1, planLimits.targetsMax);
  const names = new Set(plan.targets.map((target) => target.name));
  if (names.size !== plan.targets.length) faults.push('two targets have the same name');
  for (const target of plan.targets) checkTarget(faults, target, plan.allowRemote);
  if (faults.length > 0) throw new PlanError(faults.join('; '));
}

function checkTarget(faults: string[], target: TargetPlan, allowRemote: boolean): void {
  const { name } = target;
  if (!/^[a-z0-9_-]{1,40}$/i.test(name)) faults.push(`target name "${name}" is not 1 to 40 of a-z, 0-9, - and _`);
  checkUrl(faults, name, target.url, allowRemote);
  within(faults, `${name}: inFlightMax`, target.inFlightMax, 1, planLimits.inFlightMax);
  within(faults, `${name}: connections`, target.connections, 1, target.inFlightMax);
  within(faults, `${name}: connectMsMax`, target.connectMsMax, 1, planLimits.answerMsMax);
  within(faults, `${name}: answerMsMax`, target.answerMsMax, 1, planLimits.answerMsMax);
  within(faults, `${name}: number of stages`, target.stages.length, 1, planLimits.stagesMax);
  for (const stage of target.stages) {
    within(faults, `${name}: rate`, stage.rate, 0, planLimits.rateMax);
    within(faults, `${name}: rateEnd`, stage.rateEnd ?? stage.rate, 0, planLimits.rateMax);
    within(faults, `${name}: stage durationS`, stage.durationS, 0.001, planLimits.durationSMax);
  }
  const durationS = target.stages.reduce((sum, stage) => sum + stage.durationS, 0);
  within(faults, `${name}: duration of all stages`, durationS, 0.001, planLimits.durationSMax);
  for (const [header, value] of Object.entries(target.headers)) {
    if (!HEADER_NAME.test(header) || !HEADER_VALUE.test(value)) faults.push(`${name}: header "${header}" is malformed`);
  }
}

function checkUrl(faults: string[], name: string, text: string, allowRemote: boolean): void {
  if (!URL.canParse(text)) {
    faults.push(`${name}: "${text}" is no URL`);
    return;
  }
  const url = new URL(text);
  if (url.protocol !== 'http:') faults.push(`${name}: only http: is spoken, not ${url.protocol}`);
  if (!allowRemote && !LOOPBACK.test(url.hostname)) {
    faults.push(`${name}: ${url.hostname} is not this machine; say so explicitly if load on it is wanted`);
  }
}

function within(faults: string[], what: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) faults.push(`${what} is ${value}, allowed are ${min} to ${max}`);
}
