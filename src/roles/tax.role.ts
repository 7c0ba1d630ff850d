import type { DynamicModule } from '@nestjs/common';
import { TaxModule } from '../lanes/tax/tax.module';
import type { ProcessContext } from './process-context';

export function modulesOf(context: ProcessContext): DynamicModule[] {
  return [TaxModule.register(context, context.settings.lanes.tax)];
}
