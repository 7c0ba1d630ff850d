import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Lane, LANES, laneTable } from '../../../config/lanes';
import { projectRoot } from '../../../scripts/setup/project';
import { TaxSimulator } from '../../fixtures/tax-simulator';
import { order } from '../../fixtures/tax-server';
import { type Answer, eventually, send } from '../../support/http';
import { OPERATOR_PASSWORD, type ServerProcess, startServer } from '../../support/server-process';
import { startOwnRedis } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity } from '../../support/token';

const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
const SHARED_LANES = join(projectRoot, 'dist', 'bench', 'drills', 'compositions', 'shared-lanes.js');

/** `own`: the product. `shared`: one bulkhead and one pool of the same total size for all lanes. */
export type Composition = 'own' | 'shared';

export interface BulkheadShown {
  name: string;
  permits: number;
  in_use: number;
  queued: number;
  zombies: number;
}

interface LaneShown {
  bulkheads: BulkheadShown[];
  pool: { size: number; busy: number; waiting: number };
}

const TICK_MS = 100;
const PAYMENT = { merchant_id: 'mer_demo_0001', amount_minor: 100, currency: 'USD' };

/** Requests in a steady stream, whatever becomes of them. */
class Flow {
  readonly answers: Promise<Answer>[] = [];
  #running = true;

  constructor(
    private readonly perTick: number,
    private readonly ask: () => Promise<Answer>,
  ) {}

  start(): Promise<void> {
    return this.#run();
  }

  async stop(): Promise<Answer[]> {
    this.#running = false;
    return Promise.all(this.answers);
  }

  async #run(): Promise<void> {
    while (this.#running) {
      for (let count = 0; count < this.perTick; count += 1) this.answers.push(this.ask());
      await sleep(TICK_MS);
    }
  }
}

/** A server with all lanes and the tax provider that it calls, both in processes of their own. */
export class BrownoutServer {
  #cards = 0;

  private constructor(
    private readonly server: ServerProcess,
    readonly simulator: TaxSimulator,
    readonly database: TestDatabase,
    private readonly bearer: string,
  ) {}

  static async start(composition: Composition): Promise<BrownoutServer> {
    const simulator = await TaxSimulator.start();
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const server = await startServer({
      database,
      identity,
      environment: {
        PAYMENT_FAULTS: '1',
        TAX_PROVIDER_URL: simulator.url,
        // What fraud answers "later" here is nobody else's to evaluate.
        REDIS_URL: (await startOwnRedis({ durable: false })).url,
        ...(composition === 'shared' && { DRILL_SHARED_LANES: sharedSettings(database.adminUrl) }),
      },
      ...(composition === 'shared' && { nodeArguments: ['--require', SHARED_LANES] }),
    });
    return new BrownoutServer(server, simulator, database, await identity.bearer());
  }

  stop(): Promise<unknown> {
    return this.server.kill('SIGKILL');
  }

  /** A card for each request, so that nothing but the lane limits them. */
  authorize = (): Promise<Answer> => this.#post('/v1/authorizations', this.#payment());

  /** The same payment for the same key; a card of its own without one. */
  evaluate = (key?: string): Promise<Answer> => {
    const payment = key === undefined ? this.#payment() : { ...PAYMENT, card_token: 'card_demo_usd_0001' };
    return this.#post('/v1/fraud/evaluations', { ...payment, country: 'US' }, key);
  };

  /**
   * As a caller who sends it again under its key, at most three times: where Redis is not heard within 50 ms, as on two
   * cores that run other tests, the overflow has to say that it does not know (contract 10).
   */
  evaluateUntilKnown = async (): Promise<Answer> => {
    const body = { ...this.#payment(), country: 'US' };
    const key = randomUUID();
    const ask = (): Promise<Answer> => this.#post('/v1/fraud/evaluations', body, key);
    let answer = await ask();
    for (let retry = 0; retry < 3 && answer.body['code'] === 'ERR_FRAUD_OVERFLOW_UNAVAILABLE'; retry += 1)
      answer = await ask();
    return answer;
  };

  quote = (key?: string): Promise<Answer> => this.#post('/v1/tax/quotes', order, key);

  /** A stream of so many requests every 100 ms; it ends with `stop()`. */
  flow(perTick: number, ask: () => Promise<Answer>): Flow {
    const flow = new Flow(perTick, ask);
    void flow.start();
    return flow;
  }

  async setFaults(lane: Lane, faults: object): Promise<void> {
    const headers = { Authorization: basic };
    const { status, text } = await send(`${this.server.url}/faults/${lane}`, { method: 'PUT', body: faults, headers });
    if (status !== 200) throw new Error(text);
  }

  async lane(lane: Lane): Promise<LaneShown> {
    const { body, text } = await send(`${this.server.url}/health`);
    const shown = (body['lanes'] as Record<string, LaneShown> | undefined)?.[lane];
    if (shown === undefined) throw new Error(`No lane ${lane} in ${text}`);
    return shown;
  }

  async bulkhead(lane: Lane): Promise<BulkheadShown> {
    const [first] = (await this.lane(lane)).bulkheads;
    if (first === undefined) throw new Error(`The lane ${lane} shows no bulkhead`);
    return first;
  }

  /** Until every permit that the lane may use is in use. */
  full(lane: Lane): Promise<void> {
    return eventually(`${lane} is full`, async () => {
      const { in_use, permits } = await this.bulkhead(lane);
      return in_use === permits;
    });
  }

  /** Until no lane has a permit out or anybody waiting. */
  idle(limitMs = 20_000): Promise<void> {
    return eventually(
      'all permits are home',
      async () => {
        const shown = await Promise.all(LANES.map((lane) => this.bulkhead(lane)));
        return shown.every(({ in_use, queued }) => in_use === 0 && queued === 0);
      },
      limitMs,
    );
  }

  /** The sum of all metrics of this name that have these labels. */
  async metric(name: string, labels: Readonly<Record<string, string>>): Promise<number> {
    const { text } = await send(`${this.server.url}/metrics`);
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const found = text
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)));
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  #post(path: string, body: object, key?: string): Promise<Answer> {
    const idempotencyKey = key === undefined ? {} : { idempotencyKey: key };
    return send(`${this.server.url}${path}`, { bearer: this.bearer, body, ...idempotencyKey });
  }

  #payment(): object {
    this.#cards = (this.#cards % 1_000) + 1;
    const card_token = `card_demo_usd_${String(this.#cards).padStart(4, '0')}`;
    return { ...PAYMENT, card_token };
  }
}

/** As many permits, places and connections as the lanes have together. */
function sharedSettings(databaseUrl: string): string {
  const sum = (of: (lane: Lane) => number): number => LANES.reduce((total, lane) => total + of(lane), 0);
  return JSON.stringify({
    database_url: databaseUrl,
    permits: sum((lane) => laneTable[lane].bulkhead.permits),
    queue: sum((lane) => laneTable[lane].bulkhead.queueMax),
    connections: sum((lane) => laneTable[lane].datasource.connections),
    tax_holds_connection: false,
  });
}
