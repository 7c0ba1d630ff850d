import type { DynamicModule } from '@nestjs/common';
import { AuthorizationModule } from '../lanes/authorization/authorization.module';
import type { ProcessContext } from './process-context';

export function modulesOf(context: ProcessContext): DynamicModule[] {
  return [AuthorizationModule.register(context, context.settings.lanes.authorization)];
}
