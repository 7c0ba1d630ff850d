import { IntrusiveList } from '../../../bulkhead/intrusive-list';
import type { BufferedRow } from './buffered-row';

export interface FlushQueueLimits {
  readonly flushRowsMax: number;
  readonly flushWaitMsMax: number;
}

/** Why a flush left. */
export type FlushTrigger = 'size' | 'time' | 'drain';

export interface DueFlush {
  readonly rows: readonly BufferedRow[];
  readonly trigger: FlushTrigger;
}

/**
 * Rows that wait for their flush, and the rule by which it leaves [MC-DT-01]: if and only if so many items wait, or the
 * oldest has waited so long. Its age counts from its own admission, so that a trickle behind it puts nothing off.
 */
export class FlushQueue {
  readonly #limits: FlushQueueLimits;
  readonly #rows = new IntrusiveList<BufferedRow>();
  /** Rows that were decided about before and go again; older than all others. */
  readonly #again = new IntrusiveList<BufferedRow>();
  #items = 0;

  constructor(limits: FlushQueueLimits) {
    this.#limits = limits;
  }

  get items(): number {
    return this.#items;
  }

  push(row: BufferedRow): void {
    this.#rows.push(row);
    this.#items += row.waitingMembers;
  }

  pushAgain(row: BufferedRow): void {
    this.#again.push(row);
    this.#items += row.waitingMembers;
  }

  holds(row: BufferedRow): boolean {
    return row.list === this.#rows || row.list === this.#again;
  }

  /** One more item waits with a row that is here. */
  joined(): void {
    this.#items += 1;
  }

  /** One item less waits with a row that is here; the row goes with its last. @returns whether it went. */
  left(row: BufferedRow): boolean {
    this.#items -= 1;
    if (row.waitingMembers > 0) return false;
    row.list?.remove(row);
    return true;
  }

  /** When the next flush is due by time; `Infinity` for never. */
  get dueMs(): number {
    const oldest = this.#again.head ?? this.#rows.head;
    return oldest === null ? Infinity : oldest.waitingSinceMs + this.#limits.flushWaitMsMax;
  }

  /** The flush that is due, taken out; null for none. `all`: whatever waits is due. */
  take(nowMs: number, all: boolean): DueFlush | null {
    const trigger = this.#trigger(nowMs, all);
    if (trigger === null) return null;
    const rows: BufferedRow[] = [];
    let items = 0;
    while (items < this.#limits.flushRowsMax) {
      const row = this.#again.shift() ?? this.#rows.shift();
      if (row === null) break;
      rows.push(row);
      items += row.waitingMembers;
    }
    this.#items -= items;
    return { rows, trigger };
  }

  #trigger(nowMs: number, all: boolean): FlushTrigger | null {
    if (this.#items >= this.#limits.flushRowsMax) return 'size';
    if (nowMs >= this.dueMs) return 'time';
    return all && this.#items > 0 ? 'drain' : null;
  }
}
