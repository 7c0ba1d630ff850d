import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { sendProblem } from '../../ingress/render-problem';
import { maskSecrets } from '../../platform/mask-secrets';
import { LaneQueue } from '../../platform/queue/lane-queue';
import { lanePrefix } from '../../platform/queue/lane-queues';
import { queueProblems } from '../../platform/queue/queue.problems';
import { ProducerRedis } from '../../platform/queue/redis-connections';
import { PaymentError } from '../../shared/problem';
import { OperatorAccess } from '../access/operator-access';
import { guardOperatorPages } from '../access/operator-pages';

/** A lane's queues as the board finds them. */
export interface BoardLane {
  readonly lane: string;
  readonly redisUrl: string;
  readonly queues: readonly string[];
}

const BOARD_LANES = Symbol('BOARD_LANES');
const BASE_PATH = '/queues';

interface WatchedLane {
  readonly redis: ProducerRedis;
  readonly queues: readonly { queue: LaneQueue; adapter: BullMQAdapter }[];
}

/**
 * Bull Board over the queues of all lanes, on connections of its own that fail fast. A lane whose Redis is away is
 * left off the board until it is back: one dead Redis would leave every page waiting.
 */
@Injectable()
export class QueueBoard implements OnModuleInit, OnApplicationShutdown {
  readonly #lanes: readonly WatchedLane[];
  readonly #server = new FastifyAdapter();
  readonly #board: ReturnType<typeof createBullBoard>;
  #shown = '';

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly access: OperatorAccess,
    @Inject(BOARD_LANES) lanes: readonly BoardLane[],
  ) {
    this.#lanes = lanes.map(watch);
    this.#server.setBasePath(BASE_PATH);
    this.#board = createBullBoard({
      queues: [],
      serverAdapter: this.#server,
      options: { uiConfig: { boardTitle: 'payment-core queues' } },
    });
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.register((scope, _options, done) => {
      guardOperatorPages(scope, this.access);
      acceptEmptyJson(scope);
      scope.addHook('preHandler', async (request, reply) => {
        if (!request.url.startsWith(`${BASE_PATH}/api/`)) return;
        if ((await this.#refresh()) > 0) return;
        sendProblem(reply, new PaymentError(queueProblems.unavailable, 'No Redis of any lane answers at present.'));
        return reply;
      });
      scope.addHook('onSend', (_request, _reply, payload, done) => done(null, withoutForeignFonts(payload)));
      scope.register(this.#server.registerPlugin(), { prefix: BASE_PATH });
      done();
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#lanes.flatMap(({ queues }) => queues.map(({ queue }) => queue.close())));
    for (const { redis } of this.#lanes) redis.disconnect();
  }

  /** Puts the lanes on the board whose Redis is there now. @returns how many those are. */
  async #refresh(): Promise<number> {
    await Promise.all(this.#lanes.map(({ redis }) => redis.health()));
    const usable = this.#lanes.filter(({ redis }) => redis.usable);
    const adapters = usable.flatMap(({ queues }) => queues.map(({ adapter }) => adapter));
    const shown = adapters.map((adapter) => adapter.getName()).join();
    if (shown !== this.#shown) {
      this.#board.replaceQueues(adapters);
      this.#shown = shown;
    }
    return usable.length;
  }
}

function watch({ lane, redisUrl, queues }: BoardLane): WatchedLane {
  const redis = new ProducerRedis(redisUrl);
  return {
    redis,
    queues: queues.map((name) => {
      // The lane's own producers keep the queue's meta data; a board only looks.
      const queue = new LaneQueue(name, { connection: redis, prefix: lanePrefix(lane), skipMetasUpdate: true });
      const adapter = new BullMQAdapter(queue, { description: lane });
      // Amounts are nobody's business here; what a job is about can be told without.
      for (const field of ['data', 'returnValue'] as const) adapter.setFormatter(field, (value) => maskSecrets(value));
      return { queue, adapter };
    }),
  };
}

/** The board's page asks another site for its fonts; it has others, and operators may have no way out. */
function withoutForeignFonts(payload: unknown): unknown {
  if (typeof payload !== 'string' || !payload.includes('fonts.g')) return payload;
  return payload.replace(/<link[^>]*https:\/\/fonts\.(?:googleapis|gstatic)\.com[^>]*>/g, '');
}

/** The board's page sends `PUT` with a JSON type and no body, which the edge refuses on its own routes. */
function acceptEmptyJson(scope: FastifyInstance): void {
  scope.removeContentTypeParser('application/json');
  scope.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? undefined : (JSON.parse(body) as unknown));
    } catch (error) {
      done(error as Error);
    }
  });
}

@Module({})
export class QueuesModule {
  static register(lanes: readonly BoardLane[]): DynamicModule {
    return {
      module: QueuesModule,
      providers: [{ provide: BOARD_LANES, useValue: lanes }, QueueBoard],
    };
  }
}
