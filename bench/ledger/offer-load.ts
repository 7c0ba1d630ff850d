import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { LedgerBuffer } from '../../src/lanes/ledger/buffer/ledger-buffer';
import type { Room } from '../../src/lanes/ledger/buffer/room';
import type { LatencyHistogram } from '../load/latency-histogram';
import type { ItemFactory } from './item-factory';

export interface Offer {
  readonly buffer: LedgerBuffer;
  readonly room: Room;
  readonly items: ItemFactory;
  /** From the moment at which an item should have been admitted to its outcome. */
  readonly write: LatencyHistogram;
  readonly batch: number;
  /** Items a second, whatever comes back; null: as many as keep `heldMax` in the buffer. */
  readonly rate: number | null;
  readonly heldMax: number;
  readonly seconds: number;
}

export interface Offered {
  committed: number;
  failed: number;
  refused: number;
  elapsedMs: number;
}

/** Offers items straight to the buffer, as two callers, and waits for the last outcome. */
export async function offerLoad(offer: Offer): Promise<Offered> {
  const { room, rate, batch, seconds, heldMax } = offer;
  const offered: Offered = { committed: 0, failed: 0, refused: 0, elapsedMs: 0 };
  const startedAtMs = performance.now();
  const endMs = startedAtMs + seconds * 1_000;
  const everyMs = rate === null ? 0 : (batch / rate) * 1_000;
  let sent = 0;
  for (;;) {
    const nowMs = performance.now();
    const dueMs = rate === null ? nowMs : startedAtMs + sent * everyMs;
    if (Math.max(nowMs, dueMs) >= endMs) break;
    if (rate === null && room.items >= heldMax) await nextTurn();
    else if (dueMs > nowMs + 1) await delay(dueMs - nowMs);
    else {
      admit(offer, offered, dueMs, sent);
      sent += 1;
      if (sent % 4 === 0) await nextTurn();
    }
  }
  while (room.items > 0) await delay(1);
  offered.elapsedMs = performance.now() - startedAtMs;
  return offered;
}

function admit({ buffer, items, write, batch }: Offer, offered: Offered, dueMs: number, sent: number): void {
  const verdict = buffer.admit(items.batch(batch), `caller ${sent % 2}`, (_index, outcome) => {
    write.record(performance.now() - dueMs);
    if (outcome.status === 'COMMITTED') offered.committed += 1;
    else offered.failed += 1;
  });
  if (verdict !== 'admitted') offered.refused += batch;
}
