import { Controller, type DynamicModule, Get, Inject, Module, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PrometheusController, PrometheusModule } from '@willsoto/nestjs-prometheus';
import type { FastifyReply } from 'fastify';
import { collectDefaultMetrics, register, Registry } from 'prom-client';
import { LaneMetrics } from '../../platform/lane-metrics';
import { LaneRegistry } from '../../platform/lane-registry';

/**
 * `/metrics`: the process's own registry, and after it the library's common one, where providers made with
 * `makeCounterProvider` and its kin are.
 */
@ApiExcludeController()
@Controller()
class MetricsController extends PrometheusController {
  constructor(@Inject(Registry) private readonly registry: Registry) {
    super();
  }

  @Get()
  override async index(@Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    reply.header('content-type', this.registry.contentType).header('cache-control', 'no-store');
    const [own, common] = await Promise.all([this.registry.metrics(), register.metrics()]);
    return common.trim() === '' ? own : `${own}\n${common}`;
  }
}

/** The gauges of bulkheads and pools read the registry of lanes each time they are scraped. */
class MetricsWatch {
  constructor(metrics: LaneMetrics, lanes: LaneRegistry) {
    metrics.watch(
      () => lanes.all().flatMap((lane) => lane.bulkheads()),
      () => lanes.all().map((lane) => lane.pool()),
    );
  }
}

@Module({})
export class MetricsModule {
  /** Needs `LaneMetrics` and `LaneRegistry` from a global module; its registry gets Node's own metrics too. */
  static register(): DynamicModule {
    return {
      module: MetricsModule,
      imports: [
        PrometheusModule.register({
          path: '/metrics',
          controller: MetricsController,
          defaultMetrics: { enabled: false },
        }),
      ],
      providers: [
        {
          provide: MetricsWatch,
          inject: [LaneMetrics, LaneRegistry],
          useFactory: (metrics: LaneMetrics, lanes: LaneRegistry) => new MetricsWatch(metrics, lanes),
        },
      ],
    };
  }
}

/** A registry with Node's own metrics (event loop delay, heap, garbage collection, handles). */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
