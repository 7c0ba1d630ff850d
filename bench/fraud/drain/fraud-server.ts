import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Agent, request } from 'undici';
import { laneTable } from '../../../config/lanes';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import { fraudEvaluationPayloads } from '../../load/payloads';
import { type LatencyFigures, LatencyHistogram } from '../../load/latency-histogram';
import type { Closing } from '../../support/closing';
import type { Installation } from '../../support/installation';
import { readMetrics } from '../../support/metrics';
import { startRole } from '../../support/topology';

const PATH = '/v1/fraud/evaluations';
const { permits, queueMax } = laneTable.fraud.bulkhead;
const [{ name: QUEUE }] = laneTable.fraud.queues;
/** Few enough for the overflow's 50 ms, many enough to fill it in seconds. */
const CALLERS = 16;
const WAIT_MS_MAX = 120_000;

export interface Backlog {
  readonly ids: readonly string[];
  /** From the request to its 202, callers one after another. */
  readonly latencyMs: LatencyFigures | null;
  readonly perSecond: number;
  /** Answers other than 202, by status; none is expected. */
  readonly otherwise: Readonly<Record<string, number>>;
}

/** A fraud process whose lane can be held full, and its overflow held still. */
export class FraudServer {
  readonly #agent = new Agent({ connections: permits + queueMax + CALLERS });

  private constructor(
    readonly url: string,
    private readonly operatorPassword: string,
    readonly queue: Queue,
  ) {}

  static async start(installation: Installation, closing: Closing): Promise<FraudServer> {
    // The held ones must outlast the filling of the overflow: the most that the settings allow.
    const environment = {
      PAYMENT_FAULTS: '1',
      LANE_FRAUD_QUEUE_WAIT_MS: '60000',
      LANE_FRAUD_EXECUTION_MS: '120000',
    };
    const { url } = await startRole('fraud', installation, closing, { environment });
    const redisUrl = installation.environment['REDIS_URL'];
    if (redisUrl === undefined) throw new Error('The installation has no Redis');
    const queue = new Queue(QUEUE, { prefix: lanePrefix('fraud'), connection: { url: redisUrl } });
    const server = new FraudServer(url, installation.operatorPassword, queue);
    closing.add('the watched queue', () => queue.close());
    closing.add('the callers', () => server.#agent.close());
    return server;
  }

  /** Holds the lane full while `count` callers are told "later"; their jobs stay where they are until {@link drain}. */
  async fill(count: number, caller: string, token: string): Promise<Backlog> {
    await this.queue.pause();
    await this.#setFaults({ hang: true });
    const draft = fraudEvaluationPayloads(caller);
    let index = 0;
    const send = (): Promise<Answer> => this.#post(draft((index += 1)), token);
    const held = Array.from({ length: permits + queueMax }, send);
    await this.#until('the lane is full', async () => (await this.#inUse()) === permits + queueMax);
    const backlog = await this.#fillOverflow(count, send);
    await this.#setFaults({});
    const statuses = (await Promise.all(held)).map(({ status }) => status);
    if (statuses.some((status) => status !== 200)) throw new Error(`The held ones were answered ${statuses.join(' ')}`);
    await this.#until('permits are home', async () => (await this.#inUse()) === 0);
    return backlog;
  }

  /** Lets the worker go. @returns when it began and when nothing was left, on the wall clock. */
  async drain(): Promise<{ fromMs: number; toMs: number }> {
    const fromMs = Date.now();
    await this.queue.resume();
    const left = (): Promise<number> => this.queue.getJobCountByTypes('wait', 'active', 'delayed');
    await this.#until('the overflow is empty', async () => (await left()) === 0);
    return { fromMs, toMs: Date.now() };
  }

  async #fillOverflow(count: number, send: () => Promise<Answer>): Promise<Backlog> {
    const ids: string[] = [];
    const otherwise: Record<string, number> = {};
    const latency = new LatencyHistogram();
    let left = count;
    const startedMs = performance.now();
    const caller = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const sentMs = performance.now();
        const { status, id } = await send();
        latency.record(performance.now() - sentMs);
        if (status === 202) ids.push(id);
        else otherwise[status] = (otherwise[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const perSecond = Math.round(count / ((performance.now() - startedMs) / 1_000));
    return { ids, latencyMs: latency.figures(), perSecond, otherwise };
  }

  async #post(draft: { key: string; body: string }, token: string): Promise<Answer> {
    const { statusCode, body } = await request(`${this.url}${PATH}`, {
      method: 'POST',
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': draft.key, 'content-type': 'application/json' },
      body: draft.body,
    });
    const { id } = (await body.json()) as { id?: string };
    return { status: statusCode, id: id ?? '' };
  }

  async #setFaults(faults: object): Promise<void> {
    const { statusCode, body } = await request(`${this.url}/faults/fraud`, {
      method: 'PUT',
      headers: {
        authorization: `Basic ${Buffer.from(`operator:${this.operatorPassword}`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(faults),
    });
    await body.dump();
    if (statusCode !== 200) throw new Error(`/faults/fraud answered ${statusCode}`);
  }

  /** Permits in use, and those who wait for one. */
  async #inUse(): Promise<number> {
    const metrics = await readMetrics(this.url);
    const label = `{bulkhead="${laneTable.fraud.bulkhead.name}"}`;
    return (metrics.get(`bulkhead_threads_active${label}`) ?? 0) + (metrics.get(`bulkhead_queue_depth${label}`) ?? 0);
  }

  async #until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + WAIT_MS_MAX;
    while (!(await isTrue())) {
      if (performance.now() > endMs) throw new Error(`Not within ${WAIT_MS_MAX} ms: ${what}`);
      await sleep(20);
    }
  }
}

interface Answer {
  readonly status: number;
  readonly id: string;
}
