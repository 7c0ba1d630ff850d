import { type DynamicModule, Module } from '@nestjs/common';
import { loggingModule } from '../platform/logging';
import type { ProcessContext } from './process-context';
import { laneModules } from './role-modules';

/** What Nest builds the process of: the lanes of its role, and the operators' pages. */
@Module({})
class RootModule {}

export function rootModule(context: ProcessContext): DynamicModule {
  return { module: RootModule, imports: [loggingModule(context.log), ...laneModules(context)] };
}
