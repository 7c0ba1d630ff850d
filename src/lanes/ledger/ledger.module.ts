import { type DynamicModule, Module } from '@nestjs/common';
import type { LaneSettings } from '../../../config/environment';
import type { LaneHost } from '../lane-host';
import { LaneInfrastructureModule } from '../lane-infrastructure.module';
import { ledgerProblems } from './ledger.problems';

/** The ledger lane: its permits, pool, queues and health. It has no routes yet. */
@Module({})
export class LedgerModule {
  static register(host: LaneHost, settings: LaneSettings): DynamicModule {
    return {
      module: LedgerModule,
      imports: [
        LaneInfrastructureModule.forLane({
          host,
          settings,
          full: ledgerProblems.full,
          abortWhenAbandoned: false,
          entities: [],
          statements: [],
        }),
      ],
    };
  }
}
