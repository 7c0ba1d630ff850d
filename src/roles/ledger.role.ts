import type { DynamicModule } from '@nestjs/common';
import { LedgerModule } from '../lanes/ledger/ledger.module';
import type { ProcessContext } from './process-context';

export function modulesOf(context: ProcessContext): DynamicModule[] {
  return [LedgerModule.register(context, context.settings.lanes.ledger)];
}
