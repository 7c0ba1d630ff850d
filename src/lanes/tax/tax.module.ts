import { type DynamicModule, Module } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { taxProblems } from './tax.problems';

/** The tax lane: its permits, pool, queues and health. It has no routes yet. */
@Module({})
export class TaxModule {
  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    return {
      module: TaxModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: taxProblems.full,
          abortWhenAbandoned: true,
          entities: [],
          statements: [],
        }),
      ],
    };
  }
}
