import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type LatencyFigures, LatencyHistogram } from '../../load/latency-histogram';

/** What one kind of answer was given how often, and after how long from the scheduled send. */
export interface StatusFigures {
  readonly status: string;
  readonly count: number;
  readonly share: number;
  readonly latencyMs: LatencyFigures | null;
}

interface AnswerLine {
  readonly status: number | null;
  readonly id: string | null;
  readonly latencyMs: number;
  readonly measured: boolean;
}

/** All answers of a load by status: ids of every one, latencies of those in the measured time. */
export class Answers {
  readonly #latencies = new Map<string, LatencyHistogram>();
  readonly #ids = new Map<string, string[]>();

  add({ status, id, latencyMs, measured }: AnswerLine): void {
    if (status === null) return;
    const name = String(status);
    if (id !== null) {
      const ids = this.#ids.get(name) ?? [];
      this.#ids.set(name, ids);
      ids.push(id);
    }
    if (!measured) return;
    const latencies = this.#latencies.get(name) ?? new LatencyHistogram();
    this.#latencies.set(name, latencies);
    latencies.record(latencyMs);
  }

  idsOf(status: number): readonly string[] {
    return this.#ids.get(String(status)) ?? [];
  }

  figures(operations: number): StatusFigures[] {
    return [...this.#latencies].sort().map(([status, latencies]) => ({
      status,
      count: latencies.count,
      share: latencies.count / operations,
      latencyMs: latencies.figures(),
    }));
  }
}

/** The generator's answers, one JSON line each. */
export async function readAnswers(file: string): Promise<Answers> {
  const answers = new Answers();
  for await (const line of createInterface({ input: createReadStream(file) })) {
    answers.add(JSON.parse(line) as AnswerLine);
  }
  return answers;
}
