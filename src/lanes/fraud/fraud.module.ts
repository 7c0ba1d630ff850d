import { type DynamicModule, Module } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { fraudProblems } from './fraud.problems';

/** The fraud lane: its permits, pool, queues and health. It has no routes yet. */
@Module({})
export class FraudModule {
  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    return {
      module: FraudModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: fraudProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: [],
        }),
      ],
    };
  }
}
