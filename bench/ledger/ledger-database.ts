import { Pool } from 'pg';
import { laneUrlFromServerUrl } from '../../config/data-sources';
import { laneTable } from '../../config/lanes';
import { balanceStatements } from '../../src/lanes/ledger/balances/balance.statements';
import { generationStatements } from '../../src/lanes/ledger/generations/generation.statements';
import { journalStatements } from '../../src/lanes/ledger/write/journal.statements';
import { LaneDatabase } from '../../src/platform/database/lane-database';
import { lanePoolConfig } from '../../src/platform/database/lane-data-source';
import { noFaults } from '../../src/platform/faults';
import { systemClock } from '../../src/platform/system-clock';

/** The lane's pool as the lane itself opens it, without the lane around it. */
export async function openLedgerDatabase(adminUrl: string): Promise<LaneDatabase> {
  const { bulkhead, datasource } = laneTable.ledger;
  const { connections, connectionWaitMsMax, name, role, schema } = datasource;
  const { executionMsMax } = bulkhead;
  const url = laneUrlFromServerUrl(adminUrl, role);
  const pool = new Pool(
    lanePoolConfig({ datasource: name, url, schema, connections, executionMsMax, genericPlans: true }),
  );
  const database = new LaneDatabase(pool, {
    datasource: name,
    connections,
    connectionWaitMsMax,
    executionMsMax,
    clock: systemClock,
    observer: {},
    faults: () => noFaults,
  });
  await database.open();
  await database.prepareAll([...journalStatements, ...balanceStatements, ...generationStatements]);
  return database;
}
