import type { DynamicModule } from '@nestjs/common';
import { TaxModule } from '../lanes/tax/tax.module';
import type { ProcessContext } from './process-context';

export function modulesOf(context: ProcessContext): DynamicModule[] {
  const { lanes, taxProvider, role } = context.settings;
  return [TaxModule.register({ host: context, settings: lanes.tax, provider: taxProvider, alone: role === 'tax' })];
}
