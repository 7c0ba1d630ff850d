import type { DynamicModule } from '@nestjs/common';
import { lanesOfRole } from '../../config/environment';
import type { Lane } from '../../config/lanes';
import type { ProcessContext } from './process-context';

interface LaneRole {
  modulesOf(context: ProcessContext): DynamicModule[];
}

/**
 * A lane's code is loaded when a role asks for it, and never otherwise: a `tax` process loads no ledger code (contract 2).
 * `require`, since the compiled modules are CommonJS and a role must be complete before Nest begins.
 */
/* eslint-disable @typescript-eslint/no-require-imports */
const loaders = {
  authorization: () => require('./authorization.role') as LaneRole,
  fraud: () => require('./fraud.role') as LaneRole,
  tax: () => require('./tax.role') as LaneRole,
  ledger: () => require('./ledger.role') as LaneRole,
} satisfies Record<Lane, () => LaneRole>;
/* eslint-enable @typescript-eslint/no-require-imports */

/** The modules of all lanes that this process hosts. */
export function laneModules(context: ProcessContext): DynamicModule[] {
  return lanesOfRole(context.settings.role).flatMap((lane) => loaders[lane]().modulesOf(context));
}
