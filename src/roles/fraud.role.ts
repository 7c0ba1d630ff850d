import type { DynamicModule } from '@nestjs/common';
import { FraudModule } from '../lanes/fraud/fraud.module';
import type { ProcessContext } from './process-context';

export function modulesOf(context: ProcessContext): DynamicModule[] {
  return [FraudModule.register(context, context.settings.lanes.fraud, context.settings.fraud)];
}
