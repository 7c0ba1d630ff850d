import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rounded } from '../support/statistics';

/** V8's CPU profile as `--cpu-prof` writes it. Times in microseconds, `startTime` on the system's monotonic clock. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly startTime: number;
  readonly endTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface FunctionTime {
  readonly name: string;
  readonly microsecondsPerRequest: number;
}

export interface ProfileSummary {
  readonly requests: number;
  /** Samples in functions, `(program)` and garbage collection; not idle. */
  readonly busyMicrosecondsPerRequest: number;
  /** Own time by package or folder. */
  readonly byOrigin: readonly FunctionTime[];
  /** Own time by function, the longest first. */
  readonly byFunction: readonly FunctionTime[];
}

const FUNCTIONS_MAX = 40;

/** The profile's clock is the one of `process.hrtime`, which all processes of a machine share. */
function monotonicUs(wallMs: number): number {
  return Number(process.hrtime.bigint() / 1_000n) - (Date.now() - wallMs) * 1_000;
}

/**
 * What the profile says of the measured time alone: the start of the process, and code that was not warm, would hide what
 * a request costs.
 *
 * @param fromMs on the wall clock, like `toMs`.
 */
export function summarizeProfile(folder: string, fromMs: number, toMs: number, requests: number): ProfileSummary {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error(`No profile in ${folder}`);
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
  const own = ownTimes(profile, monotonicUs(fromMs), monotonicUs(toMs));
  const byFunction = new Map<string, number>();
  const byOrigin = new Map<string, number>();
  let busyUs = 0;
  for (const { id, callFrame } of profile.nodes) {
    const us = own.get(id) ?? 0;
    const { functionName, url, lineNumber } = callFrame;
    if (us === 0 || functionName === '(idle)' || functionName === '(root)') continue;
    busyUs += us;
    const origin = originOf(functionName, url);
    const name =
      url === '' ? functionName || '(native)' : `${functionName || '(anonymous)'} ${placeOf(url)}:${lineNumber + 1}`;
    byFunction.set(name, (byFunction.get(name) ?? 0) + us);
    byOrigin.set(origin, (byOrigin.get(origin) ?? 0) + us);
  }
  return {
    requests,
    busyMicrosecondsPerRequest: rounded(busyUs / requests, 1),
    byOrigin: longest(byOrigin, requests),
    byFunction: longest(byFunction, requests),
  };
}

function ownTimes(profile: CpuProfile, fromUs: number, toUs: number): ReadonlyMap<number, number> {
  const own = new Map<number, number>();
  let atUs = profile.startTime;
  profile.samples.forEach((id, index) => {
    // A delta is the time since the sample before, which that one's function had.
    const deltaUs = profile.timeDeltas[index + 1] ?? 0;
    atUs += profile.timeDeltas[index] ?? 0;
    if (atUs >= fromUs && atUs < toUs) own.set(id, (own.get(id) ?? 0) + Math.max(deltaUs, 0));
  });
  return own;
}

function longest(times: ReadonlyMap<string, number>, requests: number): FunctionTime[] {
  return [...times]
    .sort(([, left], [, right]) => right - left)
    .slice(0, FUNCTIONS_MAX)
    .map(([name, us]) => ({ name, microsecondsPerRequest: rounded(us / requests, 2) }));
}

/** The package, `node:` and its part, or the project's own folder. */
export function originOf(functionName: string, url: string): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  const packaged = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules)/.exec(url)?.[1];
  if (packaged !== undefined) return packaged;
  const own = /dist\/(src\/[^/]+(?:\/[^/]+)?|bench\/[^/]+|config)\//.exec(url)?.[1];
  return own ?? url;
}

function placeOf(url: string): string {
  return url.replace(/^.*node_modules\//, '').replace(/^.*\/dist\//, '');
}
