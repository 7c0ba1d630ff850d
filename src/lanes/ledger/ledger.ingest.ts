import type { Provider } from '@nestjs/common';
import { LaneDatabase } from '../../platform/database/lane-database';
import type { Statement } from '../../platform/database/statement';
import { LaneBulkheads } from '../lane-bulkheads';
import type { LaneHost } from '../lane-host';
import { BalanceRollUp } from './balances/balance-roll-up';
import { balanceStatements } from './balances/balance.statements';
import { type BufferLimits, LedgerBuffer } from './buffer/ledger-buffer';
import { Room, type RoomLimits } from './buffer/room';
import { GenerationKeeper } from './generations/generation-keeper';
import { generationStatements } from './generations/generation.statements';
import { KnownGenerations } from './generations/known-generations';
import type { LedgerObserver } from './ledger.metrics';
import { FlushRunner } from './write/flush-runner';
import type { Journal } from './write/journal';
import { JournalRepository } from './write/journal.repository';
import { journalStatements } from './write/journal.statements';
import { JournalWriter } from './write/journal-writer';
import { OneATurn } from './write/one-a-turn';
import { PoisonSplitter } from './write/poison-splitter';

/** The bounds of ingest, from the lane table. */
export interface IngestLimits extends BufferLimits, RoomLimits {
  readonly rollUpEveryMs: number;
  readonly generationBytesMax: number;
  readonly generationCheckEveryMs: number;
}

export const ingestStatements: readonly Statement[] = [
  ...journalStatements,
  ...balanceStatements,
  ...generationStatements,
];

function makeRunner(journal: Journal, host: LaneHost, observer: LedgerObserver): FlushRunner {
  const writer = new JournalWriter(journal, (statement) => {
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
      provide: KnownGenerations,
      inject: [LaneDatabase],
      useFactory: (store: LaneDatabase) => new KnownGenerations(store),
    },
    {
      provide: JournalRepository,
      inject: [LaneDatabase, KnownGenerations],
      useFactory: (store: LaneDatabase, known: KnownGenerations) => new JournalRepository(store, known),
    },
    {
      provide: LedgerBuffer,
      inject: [Room, LaneBulkheads, JournalRepository],
      useFactory: (room: Room, bulkheads: LaneBulkheads, journal: JournalRepository): LedgerBuffer => {
        const runner = makeRunner(journal, host, observer);
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
    ...upkeepProviders(host, limits, observer),
  ];
}

/** What keeps reads and flushes short while the journal grows. */
function upkeepProviders(host: LaneHost, limits: IngestLimits, observer: LedgerObserver): Provider[] {
  return [
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
    {
      provide: GenerationKeeper,
      inject: [LaneDatabase, KnownGenerations],
      useFactory: (store: LaneDatabase, known: KnownGenerations) =>
        new GenerationKeeper({
          store,
          known,
          clock: host.clock,
          generationBytesMax: limits.generationBytesMax,
          everyMs: limits.generationCheckEveryMs,
          onFailed: observer.onGenerationsFailed,
        }),
    },
  ];
}
