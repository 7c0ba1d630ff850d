import { Agent, request } from 'undici';
import { type Lane, LANES } from '../../../config/lanes';

/** A lane at one moment, as its `/health` says. */
export interface LaneSample {
  readonly atMs: number;
  readonly state: 'NORMAL' | 'SATURATED' | 'RECOVERING';
  readonly permits: number;
  readonly inUse: number;
  /** Of those, the ones that the lane's own workers hold. */
  readonly background: number;
  readonly queued: number;
  readonly zombies: number;
  readonly poolSize: number;
  readonly poolOpen: number;
  readonly poolBusy: number;
  readonly poolWaiting: number;
  readonly rssMiB: number;
}

interface BulkheadShown {
  readonly state: LaneSample['state'];
  readonly permits: number;
  readonly in_use: number;
  readonly background: number;
  readonly queued: number;
  readonly zombies: number;
}

interface HealthShown {
  readonly version: string;
  readonly node_version: string;
  readonly memory_rss_bytes: number;
  readonly lanes: Readonly<
    Record<
      string,
      {
        readonly bulkheads?: readonly BulkheadShown[];
        readonly pool?: {
          readonly size: number;
          readonly open: number;
          readonly busy: number;
          readonly waiting: number;
        };
      }
    >
  >;
}

const ANSWER_MS_MAX = 2_000;

export type LaneSamples = Readonly<Record<Lane, readonly LaneSample[]>>;

/** Asks the process of each lane how it is, at even intervals, whether or not it has answered before. */
export class LaneWatch {
  readonly #samples: Record<Lane, LaneSample[]> = { authorization: [], fraud: [], tax: [], ledger: [] };
  readonly #agent = new Agent({ connections: 4 });
  readonly #urls: readonly string[];
  #timer: NodeJS.Timeout | null = null;
  #closed: Promise<void> | null = null;
  /** Questions without an answer in time: a process that is down, or does nothing but what it is blocked by. */
  missed = 0;

  constructor(
    private readonly urlOf: (lane: Lane) => string,
    private readonly lanes: readonly Lane[] = LANES,
  ) {
    this.#urls = [...new Set(lanes.map(urlOf))];
  }

  get samples(): LaneSamples {
    return this.#samples;
  }

  /** From now on every so many milliseconds. */
  every(intervalMs: number): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = setInterval(() => void this.look(), intervalMs);
  }

  /** Idempotent. */
  stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#closed ??= this.#agent.close();
    return this.#closed;
  }

  async look(): Promise<void> {
    await Promise.all(this.#urls.map((url) => this.#ask(url)));
  }

  last(lane: Lane): LaneSample {
    const sample = this.#samples[lane].at(-1);
    if (sample === undefined) throw new Error(`Nothing is known of the lane ${lane}`);
    return sample;
  }

  async #ask(url: string): Promise<void> {
    let health: HealthShown;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const { body } = await request(`${url}/health`, { dispatcher: this.#agent, signal });
      health = (await body.json()) as HealthShown;
    } catch {
      this.missed += 1;
      return;
    }
    const atMs = Date.now();
    const rssMiB = health.memory_rss_bytes / 2 ** 20;
    for (const lane of this.lanes) {
      if (this.urlOf(lane) !== url) continue;
      const shown = health.lanes[lane];
      const [bulkhead] = shown?.bulkheads ?? [];
      if (bulkhead === undefined || shown?.pool === undefined) continue;
      const { state, permits, in_use: inUse, background, queued, zombies } = bulkhead;
      const { size: poolSize, open: poolOpen, busy: poolBusy, waiting: poolWaiting } = shown.pool;
      const counts = { permits, inUse, background, queued, zombies, poolSize, poolOpen, poolBusy, poolWaiting };
      this.#samples[lane].push({ atMs, state, rssMiB, ...counts });
    }
  }
}
