import { memoryOptions } from '../../src/roles/memory-options';
import { roleTable } from '../../src/roles/supervisor/role-table';
import type { Closing } from '../support/closing';
import type { Installation } from '../support/installation';
import type { ServerProcess } from '../support/server-process';
import { startRole } from '../support/topology';

/** The lane's process by itself, with the memory that the supervisor gives it. */
export interface LedgerServer {
  readonly url: string;
  readonly token: string;
  readonly process: ServerProcess;
}

export async function startLedger(
  installation: Installation,
  closing: Closing,
  nodeArguments: readonly string[],
): Promise<LedgerServer> {
  const { url, process } = await startRole('ledger', installation, closing, {
    nodeArguments: [...memoryOptions(roleTable.ledger.heapMibMax), ...nodeArguments],
  });
  return { url, process, token: await installation.token('bench', ['ledger']) };
}
