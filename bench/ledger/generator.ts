import { readFileSync, writeFileSync } from 'node:fs';
import { runLoad } from '../load/generator';
import { type LatencyFigures, LatencyHistogram } from '../load/latency-histogram';
import { targetDefaults } from '../load/plan';
import type { LoadResult } from '../load/result';
import type { AnswerEvent } from '../load/target-runner';
import { itemPayloads, type ItemsPlan } from './item-payloads';

/** The ledger's load in a process of its own: `node generator.js PLAN RESULT`, both JSON. */
export interface GeneratorPlan extends ItemsPlan {
  readonly url: string;
  readonly token: string;
  readonly requestsPerSecond: number;
  readonly warmupS: number;
  readonly durationS: number;
  readonly lagP99MsMax: number;
  /** Figures are also given for each stretch of so many seconds. */
  readonly windowS: number;
}

export interface ItemCounts {
  /** All answers, of the warm-up too, since what they tell is in the journal. */
  committed: number;
  duplicates: number;
  failed: number;
  /** Requests of which it is not known what became of their items. */
  unknownRequests: number;
}

export interface GeneratorOutcome {
  readonly load: LoadResult;
  readonly items: ItemCounts;
  readonly windows: readonly (LatencyFigures | null)[];
}

const CONNECTIONS = 32;
const REQUESTS_IN_FLIGHT_MAX = 1_000;
const COUNTS = /"successful_count":(\d+),"failed_count":(\d+),"duplicate_count":(\d+)/;

function count(items: ItemCounts, { status, body }: AnswerEvent): void {
  if (status === 201) items.committed += 1;
  else if (status === 422) items.failed += 1;
  else if (status === 207) {
    const [, committed, failed, duplicates] = COUNTS.exec(body ?? '') ?? [];
    if (committed === undefined) throw new Error('A 207 without counts');
    items.committed += Number(committed) - Number(duplicates);
    items.duplicates += Number(duplicates);
    items.failed += Number(failed);
  }
}

async function generate(plan: GeneratorPlan, signal: AbortSignal): Promise<GeneratorOutcome> {
  const items: ItemCounts = { committed: 0, duplicates: 0, failed: 0, unknownRequests: 0 };
  const windows: LatencyHistogram[] = [];
  const { requestsPerSecond: rate, warmupS, durationS, lagP99MsMax, windowS } = plan;
  const fromMs = performance.now() + warmupS * 1_000;
  const load = await runLoad(
    {
      warmupS,
      lagP99MsMax,
      allowRemote: false,
      targets: [
        {
          ...targetDefaults,
          name: 'ledger',
          url: plan.url,
          stages: [{ durationS, rate }],
          payload: itemPayloads(plan),
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${plan.token}` },
          connections: CONNECTIONS,
          inFlightMax: REQUESTS_IN_FLIGHT_MAX,
          keys: false,
          collectBodies: true,
        },
      ],
    },
    {
      signal,
      hooks: {
        onAnswer: (answer) => {
          count(items, answer);
          if (!answer.measured) return;
          const dueS = Math.max(0, (performance.now() - answer.latencyMs - fromMs) / 1_000);
          const window = Math.min(Math.floor(dueS / windowS), Math.ceil(durationS / windowS) - 1);
          while (windows.length <= window) windows.push(new LatencyHistogram());
          windows[window]?.record(answer.latencyMs);
        },
        onUnknown: () => {
          items.unknownRequests += 1;
        },
      },
    },
  );
  return { load, items, windows: windows.map((histogram) => histogram.figures()) };
}

async function main(): Promise<void> {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort());
  const [planFile = '', resultFile = ''] = process.argv.slice(2);
  const plan = JSON.parse(readFileSync(planFile, 'utf8')) as GeneratorPlan;
  writeFileSync(resultFile, JSON.stringify(await generate(plan, interrupt.signal)));
}

void main();
