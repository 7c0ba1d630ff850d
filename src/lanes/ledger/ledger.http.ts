import type { Provider } from '@nestjs/common';
import { ulid } from 'ulid';
import type { LaneSettings } from '../../../config/environment';
import {
  AdmissionInterceptor,
  BULKHEAD,
  LANE_ADMISSION,
  type LaneAdmission,
} from '../../ingress/admission.interceptor';
import { LaneDatabase } from '../../platform/database/lane-database';
import type { Statement } from '../../platform/database/statement';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { AccountRepository } from './accounts/account.repository';
import { accountStatements } from './accounts/account.statements';
import { AccountsController } from './accounts/accounts.controller';
import { IngestGate } from './bounds/ingest-gate';
import { LedgerBuffer } from './buffer/ledger-buffer';
import { Room } from './buffer/room';
import { LedgerDoors } from './doors/ledger-doors';
import { TimedIngest } from './doors/timed-ingest';
import { Turns } from './doors/turns';
import { BATCH_ITEMS_MAX, LedgerController } from './ledger.controller';
import type { LedgerObserver } from './ledger.metrics';
import { ledgerProblems } from './ledger.problems';
import { EntryReader } from './reads/entry.reader';
import { EntryRepository } from './reads/entry.repository';
import { entryStatements } from './reads/entry.statements';
import { ReadsController } from './reads/reads.controller';
import { trialBalanceStatements } from './reads/trial-balance.statements';

/** A request lies unread so long at most, and so many of them at once (contract 11). */
const UNREAD_MS_MAX = 1_000;
const UNREAD_MAX = 1_000;

export const httpControllers = [LedgerController, ReadsController, AccountsController];
export const httpStatements: readonly Statement[] = [
  ...accountStatements,
  ...entryStatements,
  ...trialBalanceStatements,
];

type DoorObserver = Pick<LedgerObserver, 'onFormFaults' | 'onWritten'>;

export function httpProviders(host: LaneHost, settings: LaneSettings, observer: DoorObserver): Provider[] {
  return [...doorProviders(host, settings, observer), ...readProviders(host, settings)];
}

function doorProviders(host: LaneHost, settings: LaneSettings, observer: DoorObserver): Provider[] {
  const metrics = host.metrics.bulkhead(settings.bulkhead.name);
  return [
    {
      provide: IngestGate,
      inject: [Room],
      useFactory: (room: Room) => {
        const gate = new IngestGate({
          room,
          clock: host.clock,
          unreadMsMax: UNREAD_MS_MAX,
          unreadMax: UNREAD_MAX,
          onRefused: (reason) => metrics.rejected(reason),
        });
        host.bodyGates.open(settings.lane, gate.check);
        return gate;
      },
    },
    {
      provide: LedgerDoors,
      inject: [LedgerBuffer, IngestGate],
      useFactory: (buffer: LedgerBuffer, gate: IngestGate) =>
        new LedgerDoors({
          ingest: new TimedIngest(buffer, host.clock, observer.onWritten),
          turns: new Turns(host.clock),
          batchItemsMax: BATCH_ITEMS_MAX,
          newBatchId: () => `btc_${ulid()}`,
          refuse: (refusal) => gate.refuse(refusal),
          onFormFaults: observer.onFormFaults,
        }),
    },
  ];
}

/**
 * The admission of the lane's other routes is that of its reads: the permits of the lane itself are its flushes, which
 * the doors never take (contract 3).
 */
function readProviders(host: LaneHost, settings: LaneSettings): Provider[] {
  const { readBulkhead, lane } = settings;
  if (readBulkhead === null) throw new Error('The ledger has permits of their own for its reads');
  const metrics = host.metrics.bulkhead(readBulkhead.name);
  const faults = host.faults.of(lane);
  const admission: LaneAdmission = {
    lane,
    full: ledgerProblems.full,
    onRejected: (reason) => metrics.rejected(reason),
    onShed: (shedMs) => metrics.shed(shedMs),
    beforeWork: () => faults.beforeWork(),
  };
  return [
    { provide: BULKHEAD, inject: [LaneBulkheads], useFactory: ({ reads }: LaneBulkheads) => reads },
    { provide: LANE_ADMISSION, useValue: admission },
    AdmissionInterceptor,
    {
      provide: AccountRepository,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new AccountRepository(store),
    },
    {
      provide: EntryReader,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new EntryReader(new EntryRepository(store), host.clock),
    },
  ];
}
