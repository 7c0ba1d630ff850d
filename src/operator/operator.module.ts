import { type DynamicModule, Global, Module } from '@nestjs/common';
import { type PlatformSettings, SETTINGS } from '../platform/settings-token';
import { OperatorAccess, VERIFY_TOKEN, type VerifyToken } from './access/operator-access';
import { OperatorGuard } from './access/operator.guard';
import { DocsModule } from './docs/api-reference';
import { FaultsModule } from './faults/faults.module';
import { HealthModule } from './health/health.module';
import type { ProcessHealthOptions } from './health/process-health';
import { MetricsModule } from './metrics/metrics.module';
import { type BoardLane, QueuesModule } from './queues/queue-board';

export interface OperatorModuleOptions {
  readonly health: ProcessHealthOptions;
  /** The lanes whose queues are on the board; null where the process serves no operators' pages. */
  readonly pages: { readonly boardLanes: readonly BoardLane[] } | null;
}

/** Credentials, for every module that serves operators. */
@Global()
@Module({
  providers: [
    {
      provide: OperatorAccess,
      inject: [SETTINGS, { token: VERIFY_TOKEN, optional: true }],
      useFactory: (settings: PlatformSettings, tokens?: VerifyToken) =>
        new OperatorAccess(settings.operatorPassword, tokens ?? null),
    },
    OperatorGuard,
  ],
  exports: [OperatorAccess, OperatorGuard],
})
class OperatorAccessModule {}

/**
 * What every process shows of itself, and what the operators' process shows of all. It needs, from a global module of
 * the role: `LaneRegistry`, `LaneMetrics`, prom-client's `Registry`, `AlertBoard`, `FaultSwitches`, `SETTINGS`, and
 * `VERIFY_TOKEN` where tokens open the pages.
 */
@Module({})
export class OperatorModule {
  static forProcess({ health, pages }: OperatorModuleOptions): DynamicModule {
    return {
      module: OperatorModule,
      imports: [
        OperatorAccessModule,
        HealthModule.register(health),
        MetricsModule.register(),
        FaultsModule,
        ...(pages === null ? [] : [QueuesModule.register(pages.boardLanes), DocsModule.register()]),
      ],
    };
  }
}
