import 'reflect-metadata';
import { Body, Controller, Get, HttpCode, Module, Param, Post, Query, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { Bulkhead, type BulkheadLimits, type BulkheadObserver, type Execution } from '../../bulkhead/bulkhead';
import { systemClock } from '../../platform/system-clock';
import type { Clock } from '../../shared/clock';
import {
  AdmissionInterceptor,
  BULKHEAD,
  LANE_ADMISSION,
  type LaneAdmission,
  STAND_IN,
  type StandIn,
} from '../admission.interceptor';
import type { Answered } from '../answers';
import type { Caller } from '../caller';
import { Draining } from '../draining';
import { edgeFastifyOptions, type ServerTimes } from '../edge-options';
import { executionOf } from '../exchange';
import { IdempotencyCoordinator } from '../idempotency.coordinator';
import { type Edge, installEdge } from '../install-edge';
import { keyedRequestOf, markReplayed } from '../keyed-request';
import type { UnexpectedError } from '../problem.filter';
import type { RetryGuardMode } from '../request-headers';
import { LaneRoute } from '../route';

/** What the handlers of the test lane do; a spec replaces it. */
export interface TestWork {
  run(body: OrderBody, execution: Execution): unknown;
}

export const orderSchema = z.strictObject({
  merchant_id: z.string().min(1),
  amount_minor: z.int().positive(),
  note: z.string().optional(),
});
export type OrderBody = z.infer<typeof orderSchema>;

export class TestWorkHolder {
  current: TestWork = { run: (body) => body };
  open: () => unknown = () => ({});
}

const lane = { lane: 'orders', scope: 'orders' } as const;

@Controller('/v1/orders')
class OrdersController {
  constructor(
    private readonly work: TestWorkHolder,
    private readonly coordinator: IdempotencyCoordinator,
  ) {}

  @Post()
  @LaneRoute({
    ...lane,
    idempotencyKey: true,
    merchantMember: 'merchant_id',
    body: orderSchema,
    answers: { 201: orderSchema },
  })
  create(@Body() body: OrderBody, @Req() request: FastifyRequest): unknown {
    return this.work.current.run(body, executionOf(request));
  }

  @Post('keyed')
  @HttpCode(201)
  @LaneRoute({ ...lane, idempotencyKey: true, body: orderSchema })
  async keyed(
    @Body() body: OrderBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<unknown> {
    const { answer, replayed } = await this.coordinator.run(keyedRequestOf(request), async () => ({
      kind: 'answered' as const,
      answer: await this.work.current.run(body, executionOf(request)),
      replayed: false,
    }));
    markReplayed(reply, replayed);
    return answer;
  }

  @Get()
  @LaneRoute({ ...lane, query: z.strictObject({ cursor: z.string().min(2).optional() }) })
  list(@Query() query: { cursor?: string }): unknown {
    return { cursor: query.cursor ?? null };
  }

  @Get(':id')
  @LaneRoute({ ...lane, params: z.strictObject({ id: z.string().max(40) }) })
  read(@Param('id') id: string): unknown {
    return { id };
  }
}

@Controller()
class OpenController {
  constructor(private readonly work: TestWorkHolder) {}

  @Get('/health/live')
  live(): unknown {
    return { status: 'ok' };
  }

  @Get('/boom')
  boom(): unknown {
    return this.work.open();
  }
}

export interface EdgeServerOptions {
  readonly verify?: (token: string) => Caller | null | Promise<Caller | null>;
  readonly limits?: Partial<BulkheadLimits>;
  readonly clock?: Clock;
  readonly retryGuard?: RetryGuardMode;
  readonly bodyMsMax?: number;
  readonly times?: ServerTimes;
  readonly abortWhenAbandoned?: boolean;
  readonly beforeWork?: () => Promise<void> | null;
  readonly observer?: BulkheadObserver;
  readonly standIn?: StandIn;
}

export interface EdgeServer {
  readonly app: NestFastifyApplication;
  readonly edge: Edge;
  readonly bulkhead: Bulkhead;
  readonly draining: Draining;
  readonly coordinator: IdempotencyCoordinator;
  readonly work: TestWorkHolder;
  readonly answered: Answered[];
  readonly unexpected: UnexpectedError[];
  readonly rejected: string[];
  readonly shedMs: number[];
  port(): number;
  close(): Promise<void>;
}

/** Good tokens of the test lane: the subject and merchants in clear text, since what verifies them is given. */
export function testCaller(token: string): Caller | null {
  const [subject, scopes, merchants] = token.split('~');
  if (subject === undefined || subject === '' || subject === 'bad') return null;
  return {
    subject,
    scopes: new Set((scopes ?? 'orders').split('.')),
    merchants: merchants === undefined ? '*' : new Set(merchants.split('.')),
  };
}

const FULL = { code: 'ERR_ORDERS_SATURATED', status: 429, title: 'Too many orders', retryAfterSeconds: 5 } as const;

/** A real Nest application on a real port, with the edge and a lane of a few permits. */
export async function startEdgeServer(options: EdgeServerOptions = {}): Promise<EdgeServer> {
  const clock = options.clock ?? systemClock;
  const draining = new Draining();
  const answered: Answered[] = [];
  const unexpected: UnexpectedError[] = [];
  const rejected: string[] = [];
  const shedMs: number[] = [];
  const limits = { name: 'bulkhead_orders', permits: 2, queueMax: 1, queueWaitMsMax: 100, executionMsMax: 10_000 };
  const bulkhead = new Bulkhead({ ...limits, background: null, ...options.limits }, clock, options.observer);
  const coordinator = new IdempotencyCoordinator(clock, options.beforeWork);
  const work = new TestWorkHolder();
  const admission: LaneAdmission = {
    lane: 'orders',
    full: FULL,
    abortWhenAbandoned: options.abortWhenAbandoned ?? false,
    onRejected: (reason) => rejected.push(reason),
    onShed: (ms) => shedMs.push(ms),
    ...(options.beforeWork && { beforeWork: options.beforeWork }),
  };

  @Module({
    controllers: [OrdersController, OpenController],
    providers: [
      { provide: BULKHEAD, useValue: bulkhead },
      { provide: LANE_ADMISSION, useValue: admission },
      { provide: IdempotencyCoordinator, useValue: coordinator },
      { provide: TestWorkHolder, useValue: work },
      { provide: STAND_IN, useValue: options.standIn ?? null },
      AdmissionInterceptor,
    ],
  })
  class TestModule {}

  const following = { clock, draining, onAnswered: (one: Answered): unknown => answered.push(one) };
  const app = await NestFactory.create<NestFastifyApplication>(
    TestModule,
    new FastifyAdapter(edgeFastifyOptions(following, options.times)),
    { bodyParser: false, logger: false },
  );
  const edge = installEdge(app, {
    ...following,
    tokens: { verify: options.verify ?? testCaller },
    retryGuard: options.retryGuard ?? 'default',
    onUnexpected: (error) => unexpected.push(error),
    onDrainingRefusal: (name) => rejected.push(`draining ${name}`),
    ...(options.bodyMsMax !== undefined && { bodyMsMax: options.bodyMsMax }),
  });
  await app.listen(0, '127.0.0.1');
  return {
    app,
    edge,
    bulkhead,
    draining,
    coordinator,
    work,
    answered,
    unexpected,
    rejected,
    shedMs,
    port: () => (app.getHttpServer().address() as AddressInfo).port,
    async close() {
      edge.close();
      app.getHttpServer().closeAllConnections();
      await app.close();
      bulkhead.close();
    },
  };
}
