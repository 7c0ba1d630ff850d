import { laneTable, ledgerLimits } from '../../config/lanes';
import { Bulkhead } from '../../src/bulkhead/bulkhead';
import { BalanceRollUp } from '../../src/lanes/ledger/balances/balance-roll-up';
import { LedgerBuffer } from '../../src/lanes/ledger/buffer/ledger-buffer';
import { Room } from '../../src/lanes/ledger/buffer/room';
import { GenerationKeeper } from '../../src/lanes/ledger/generations/generation-keeper';
import { KnownGenerations } from '../../src/lanes/ledger/generations/known-generations';
import { FlushRunner } from '../../src/lanes/ledger/write/flush-runner';
import { JournalRepository } from '../../src/lanes/ledger/write/journal.repository';
import { JournalWriter } from '../../src/lanes/ledger/write/journal-writer';
import { PoisonSplitter } from '../../src/lanes/ledger/write/poison-splitter';
import { systemClock } from '../../src/platform/system-clock';
import { LatencyHistogram } from '../load/latency-histogram';
import { openLedgerDatabase } from './ledger-database';

export interface WritePath {
  readonly buffer: LedgerBuffer;
  readonly room: Room;
  /** From a flush that leaves to its end. */
  readonly flush: LatencyHistogram;
  readonly counts: { flushes: number; rows: number; statements: number; failures: number };
  close(): Promise<void>;
}

/** Buffer, flushes and the upkeep of the journal, as the lane has them, without doors. */
export async function openWritePath(adminUrl: string, generationBytesMax: number): Promise<WritePath> {
  const database = await openLedgerDatabase(adminUrl);
  const flush = new LatencyHistogram();
  const counts = { flushes: 0, rows: 0, statements: 0, failures: 0 };
  const onFailure = (_failure: unknown, error: unknown): void => {
    counts.failures += 1;
    if (counts.failures < 5) console.error(error);
  };
  const known = new KnownGenerations(database);
  const clock = systemClock;
  const onFailed = (error: unknown): void => console.error(error);
  const keeper = new GenerationKeeper({ store: database, known, clock, generationBytesMax, everyMs: 1_000, onFailed });
  const rollUp = new BalanceRollUp({ store: database, clock, everyMs: ledgerLimits.rollUpEveryMs, onFailed });
  const writer = new JournalWriter(new JournalRepository(database, known), (statement) => {
    counts.statements += 1;
    return statement();
  });
  const random = Math.random;
  const splitter = new PoisonSplitter({ writer, clock, random, onFailure, onPoison: () => {} });
  const runner = new FlushRunner({ writer, splitter, clock, random, onFailure });
  const { name, permits, queueMax, queueWaitMsMax, executionMsMax } = laneTable.ledger.bulkhead;
  const room = new Room(ledgerLimits);
  const buffer = new LedgerBuffer({
    limits: ledgerLimits,
    room,
    clock,
    bulkhead: new Bulkhead({ name, permits, queueMax, queueWaitMsMax, executionMsMax, background: null }, clock),
    flush: (rows) => runner.run(rows),
    observer: {
      onFlush: (rows) => {
        counts.flushes += 1;
        counts.rows += rows;
      },
      onFlushed: (elapsedMs) => flush.record(elapsedMs),
    },
  });
  await keeper.open();
  keeper.start();
  rollUp.start();
  const close = async (): Promise<void> => {
    await buffer.drain();
    buffer.close();
    await Promise.all([keeper.stop(), rollUp.stop()]);
    await database.close();
  };
  return { buffer, room, flush, counts, close };
}
