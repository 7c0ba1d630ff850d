import { type LatencyFigures } from './latency-histogram';

export interface Machine {
  cpus: number;
  model: string;
  memoryMiB: number;
  node: string;
  kernel: string;
}

/** One second of a target's schedule; an answer counts in the second its request was due, however late it came. */
export interface SecondRow {
  /** Whole seconds from `startedAt`. */
  second: number;
  due: number;
  answered: number;
  succeeded: number;
  refused4xx: number;
  refused5xx: number;
  unknown: number;
  overflow: number;
  notSent: number;
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
}

/** `operations + retries = sent + overflow + notSent` and `sent = answered + unknown`, exactly. */
export interface TargetResult {
  name: string;
  url: string;
  /** Operations per second over the measured time, as scheduled. */
  rate: number;
  /** Requests of the schedule, each under a key of its own. */
  operations: number;
  /** Requests sent again under a key already used. */
  retries: number;
  sent: number;
  answered: number;
  /** Not sent because too many requests had no answer. */
  overflow: number;
  /** Not sent because no connection could be opened. */
  notSent: number;
  /** Sent, but no answer came. */
  unknown: number;
  unknownReasons: Record<string, number>;
  statuses: Record<string, number>;
  /** Problem codes of the answers that are no success. */
  codes: Record<string, number>;
  firstTrySucceeded: number;
  afterRetrySucceeded: number;
  failed: number;
  /** Operations that got a 2xx at once, as a share of all. */
  firstTryShare: number;
  /** Operations that got a 2xx at once or after retries, as a share of all. */
  succeededShare: number;
  /** From the scheduled send time to the end of the answer; every answer, of first tries and retries. */
  latencyMs: LatencyFigures | null;
  latencyMsByClass: Record<string, LatencyFigures>;
  /** From the actual send time to the end of the answer: what the server alone took, as seen from here. */
  serviceMs: LatencyFigures | null;
  /** How late requests left. */
  lagMs: LatencyFigures | null;
  series: SecondRow[];
}

export interface GeneratorResult {
  lagMs: LatencyFigures | null;
  lagP99MsMax: number;
  /** How much later than asked the generator's event loop ran its timers. */
  eventLoopDelayMs: { p50: number; p99: number; max: number };
  /** CPU seconds per second of the run, of one core. */
  cpuShare: number;
}

export interface LoadResult {
  machine: Machine;
  commit: string | null;
  /** The first measured instant; warm-up is before it. */
  startedAt: string;
  warmupS: number;
  durationS: number;
  targets: TargetResult[];
  generator: GeneratorResult;
  /** True: the generator, not the system, made these figures, and nothing may be concluded from them. */
  void: boolean;
  voidReason: string | null;
}
