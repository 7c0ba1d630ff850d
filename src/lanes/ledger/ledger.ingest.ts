import type { Provider } from '@nestjs/common';
import { LaneDatabase } from '../../platform/database/lane-database';
import type { Statement } from '../../platform/database/statement';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { BalanceRollUp } from './balances/balance-roll-up';
import { balanceStatements } from './balances/balance.statements';
import { type BufferLimits, LedgerBuffer } from './buffer/ledger-buffer';
import { Room, type RoomLimits } from './buffer/room';
import type { LedgerObserver } from './ledger.metrics';
import { FlushRunner } from './write/flush-runner';
import { JournalRepository } from './write/journal.repository';
import { journalStatements } from './write/journal.statements';
import { JournalWriter } from './write/journal-writer';
import { OneATurn } from './write/one-a-turn';
import { PoisonSplitter } from './write/poison-splitter';

/** The bounds of ingest, from the lane table. */
export interface IngestLimits extends BufferLimits, RoomLimits {
  readonly rollUpEveryMs: number;
}

export const ingestStatements: readonly Statement[] = [...journalStatements, ...balanceStatements];

function makeRunner(store: LaneDatabase, host: LaneHost, observer: LedgerObserver): FlushRunner {
  const writer = new JournalWriter(new JournalRepository(store), (statement) => {
    observer.onStatement();
    return statement();
  });
  const { clock } = host;
  const onFailure = observer.onWriteFailure;
  const splitter = new PoisonSplitter({ writer, clock, random: Math.random, onFailure, onPoison: observer.onPoison });
  return new FlushRunner({ writer, splitter, clock, random: Math.random, onFailure });
}

/** The buffer and what stands behind it; the doors in front of it are somebody else's. */
export function ingestProviders(host: LaneHost, limits: IngestLimits, observer: LedgerObserver): Provider[] {
  const faults = host.faults.of('ledger');
  return [
    { provide: Room, useFactory: () => new Room(limits) },
    {
      provide: LedgerBuffer,
      inject: [Room, LaneBulkheads, LaneDatabase],
      useFactory: (room: Room, bulkheads: LaneBulkheads, store: LaneDatabase): LedgerBuffer => {
        const runner = makeRunner(store, host, observer);
        const turn = new OneATurn();
        const buffer = new LedgerBuffer({
          limits,
          room,
          clock: host.clock,
          bulkhead: bulkheads.main,
          flush: async (rows) => {
            const wait = faults.beforeWork() ?? turn.enter();
            if (wait !== null) await wait;
            await runner.run(rows);
          },
          observer,
        });
        observer.watchItems(() => room.items);
        // The lane is as full as its buffer; its permits say only how many flushes are out (contract 5).
        bulkheads.standInFront({
          view: () => ({
            state: buffer.state,
            pressure: buffer.pressure,
            queued: buffer.waitingItems,
            queueMax: limits.itemsMax,
          }),
          drain: () => buffer.drain(),
          close: () => buffer.close(),
        });
        return buffer;
      },
    },
    {
      provide: BalanceRollUp,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) =>
        new BalanceRollUp({
          store,
          clock: host.clock,
          everyMs: limits.rollUpEveryMs,
          onFailed: observer.onRollUpFailed,
        }),
    },
  ];
}
