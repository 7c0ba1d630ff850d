import { readFileSync } from 'node:fs';
import { childrenOf } from '../../scripts/setup/os/processes';
import { rounded } from './statistics';

/** The unit of CPU times in /proc, which the kernel keeps at 100 a second for programs whatever its own tick is. */
const TICKS_PER_SECOND = 100;

interface Usage {
  /** CPU of the process and of its children that have ended and been waited for, in seconds. */
  readonly cpuS: number;
  readonly rssMiB: number;
}

/** Null for a process that is not there. */
export function usageOf(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command in brackets may hold spaces and brackets: fields are counted from its end; utime is the 14th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
    const rssKiB = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return { cpuS: ticks / TICKS_PER_SECOND, rssMiB: Number(rssKiB ?? 0) / 1_024 };
  } catch {
    return null;
  }
}

/** A process, or a server with one process per connection, whose use is followed. */
export interface Watched {
  readonly name: string;
  /** Null while it does not run. */
  readonly pid: () => number | null;
  /** Count its children too. Their memory is shared for the most part, so it is not summed. */
  readonly withChildren: boolean;
}

interface Sample {
  readonly atMs: number;
  readonly cpuS: number;
  readonly rssMiB: number;
}

export interface WindowUsage {
  readonly cpuS: number;
  /** CPU seconds per second: 1 is one core. */
  readonly cpuShare: number;
  readonly rssMiBStart: number;
  readonly rssMiBEnd: number;
  readonly rssMiBMax: number;
}

const SAMPLE_EVERY_MS = 250;

/** Reads /proc four times a second and answers for any stretch of time afterwards. */
export class UsageSampler {
  readonly #series = new Map<string, Sample[]>();
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly watched: readonly Watched[]) {
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sample();
  }

  /** By name, between two instants of the wall clock. Null where the process was not there all the time. */
  window(name: string, fromMs: number, toMs: number): WindowUsage | null {
    const samples = this.#series.get(name) ?? [];
    const inside = samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
    const [from, to] = [cpuAt(samples, fromMs), cpuAt(samples, toMs)];
    const [first, last] = [inside[0], inside.at(-1)];
    if (from === null || to === null || first === undefined || last === undefined || to < from) return null;
    return {
      cpuS: rounded(to - from, 3),
      cpuShare: rounded((to - from) / ((toMs - fromMs) / 1_000), 4),
      rssMiBStart: rounded(first.rssMiB, 1),
      rssMiBEnd: rounded(last.rssMiB, 1),
      rssMiBMax: rounded(Math.max(...inside.map(({ rssMiB }) => rssMiB)), 1),
    };
  }

  #sample(): void {
    const atMs = Date.now();
    for (const { name, pid, withChildren } of this.watched) {
      const root = pid();
      const own = root === null ? null : usageOf(root);
      if (root === null || own === null) continue;
      const children = withChildren ? childrenOf(root).map((child) => usageOf(child.pid)?.cpuS ?? 0) : [];
      const cpuS = children.reduce((sum, childCpuS) => sum + childCpuS, own.cpuS);
      const series = this.#series.get(name) ?? [];
      series.push({ atMs, cpuS, rssMiB: own.rssMiB });
      this.#series.set(name, series);
    }
  }
}

/** CPU time at an instant between two samples; a quarter of a second apart, a straight line between them is near enough. */
function cpuAt(samples: readonly Sample[], atMs: number): number | null {
  const next = samples.findIndex((sample) => sample.atMs >= atMs);
  const after = samples[next];
  if (after === undefined) return null;
  const before = samples[next - 1];
  if (before === undefined) return after.atMs - atMs <= SAMPLE_EVERY_MS ? after.cpuS : null;
  return before.cpuS + ((after.cpuS - before.cpuS) * (atMs - before.atMs)) / (after.atMs - before.atMs);
}
