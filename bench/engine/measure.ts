import { performance } from 'node:perf_hooks';
import { candidateName, type Candidate, type Subject, type Tally } from './candidate';

export interface Effort {
  /** Before anything counts: the compiler has its say, lists have their size. */
  warmupMs: number;
  measureMs: number;
  /** Calls between two looks at the clock, and calls whose memory is weighed. */
  chunk: number;
}

export interface Speed extends Tally {
  calls: number;
  callsPerSecond: number;
}

export interface Memory {
  /** Bytes that a call takes from the heap, most of them garbage when it has ended. */
  allocatedPerCall: number;
  /** Bytes that a call leaves behind once garbage is collected; 0 but for what the measurement itself keeps. */
  retainedPerCall: number;
}

function add(sum: Tally, part: Tally): void {
  sum.admitted += part.admitted;
  sum.refused += part.refused;
  sum.overtaken += part.overtaken;
}

/** Throws where the counts do not add up: a candidate that dropped a call would look fast. */
export function assertDone(candidate: Candidate, calls: number, { admitted, refused }: Tally): void {
  const refuses = candidate.scenario.startsWith('refused');
  const wrong =
    admitted + refused !== calls ||
    (refuses && admitted > 0) ||
    (candidate.scenario !== 'hand-off' && !refuses && refused > 0);
  if (!wrong) return;
  throw new Error(`${candidateName(candidate)}: of ${calls} calls ${admitted} were admitted and ${refused} refused`);
}

async function runFor(subject: Subject, ms: number, chunk: number): Promise<Speed> {
  const tally = { admitted: 0, refused: 0, overtaken: 0 };
  const startedAt = performance.now();
  let calls = 0;
  let elapsedMs: number;
  do {
    const done = subject.run(chunk);
    add(tally, done instanceof Promise ? await done : done);
    calls += chunk;
    elapsedMs = performance.now() - startedAt;
  } while (elapsedMs < ms);
  return { ...tally, calls, callsPerSecond: (calls / elapsedMs) * 1_000 };
}

export async function measureSpeed(candidate: Candidate, effort: Effort): Promise<Speed> {
  const subject = candidate.prepare();
  try {
    await runFor(subject, effort.warmupMs, effort.chunk);
    const speed = await runFor(subject, effort.measureMs, effort.chunk);
    assertDone(candidate, speed.calls, speed);
    return speed;
  } finally {
    subject.close();
  }
}

/**
 * The heap before and after some calls, and after a collection. `gc` collects everything at once; between the first two
 * readings nothing may be collected, so the young generation has to be larger than what the calls allocate.
 */
export async function measureMemory(candidate: Candidate, effort: Effort, gc: () => void): Promise<Memory> {
  const subject = candidate.prepare();
  try {
    await runFor(subject, effort.warmupMs, effort.chunk);
    gc();
    const before = process.memoryUsage().heapUsed;
    const tally = await subject.run(effort.chunk);
    const after = process.memoryUsage().heapUsed;
    gc();
    const left = process.memoryUsage().heapUsed;
    assertDone(candidate, effort.chunk, tally);
    return {
      allocatedPerCall: (after - before) / effort.chunk,
      retainedPerCall: (left - before) / effort.chunk,
    };
  } finally {
    subject.close();
  }
}
