import type { AdmissionVerdict, ByteReservation, IngestRoom } from '../ledger';

export interface RoomLimits {
  readonly itemsMax: number;
  readonly bodyBytesHeldMax: number;
  readonly congestedFrom: number;
  readonly openBelow: number;
}

/** What one caller holds; the caller's own object, so that giving an item back is no look-up. */
export interface CallerShare {
  readonly callerKey: string;
  items: number;
  bytes: number;
}

/** A crowd that wants to be told of room is bounded by the connections; this bounds what a turn of telling costs. */
const TOLD_AT_ONCE_MAX = 64;

/**
 * How much the process holds: items whose outcome is unknown, and bytes of bodies [MC-BB-01, INV-BATCH-03]. One caller
 * has at most half of each. Synchronous: nothing is taken between a look and a take.
 */
export class Room implements IngestRoom {
  readonly #limits: RoomLimits;
  readonly #shares = new Map<string, CallerShare>();
  readonly #waiting = new Set<() => void>();
  #items = 0;
  #bytes = 0;
  #congested = false;
  #telling = false;

  constructor(limits: RoomLimits) {
    this.#limits = limits;
  }

  get items(): number {
    return this.#items;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get congested(): boolean {
    return this.#congested;
  }

  /** Callers that hold something now. */
  get callers(): number {
    return this.#shares.size;
  }

  verdict(itemCount: number, callerKey: string): AdmissionVerdict {
    const { itemsMax } = this.#limits;
    if (this.#items + itemCount > itemsMax) return 'no_room';
    const held = this.#shares.get(callerKey)?.items ?? 0;
    return held + itemCount > itemsMax / 2 ? 'callers_half' : 'admitted';
  }

  /** Takes room for the items; to be asked for a verdict first. */
  take(itemCount: number, callerKey: string): CallerShare {
    const share = this.#shareOf(callerKey);
    share.items += itemCount;
    this.#items += itemCount;
    if (this.#items >= this.#limits.congestedFrom) this.#congested = true;
    return share;
  }

  /** One item's outcome is known. */
  giveBack(share: CallerShare): void {
    share.items -= 1;
    this.#items -= 1;
    this.#dropIfEmpty(share);
    if (this.#congested && this.#items < this.#limits.openBelow) {
      this.#congested = false;
      this.#tellSoon();
    }
  }

  reserveBytes(bytes: number, callerKey: string): ByteReservation | Exclude<AdmissionVerdict, 'admitted'> {
    const { bodyBytesHeldMax } = this.#limits;
    if (this.#bytes + bytes > bodyBytesHeldMax) return 'no_room';
    const share = this.#shareOf(callerKey);
    if (share.bytes + bytes > bodyBytesHeldMax / 2) {
      this.#dropIfEmpty(share);
      return 'callers_half';
    }
    share.bytes += bytes;
    this.#bytes += bytes;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        share.bytes -= bytes;
        this.#bytes -= bytes;
        this.#dropIfEmpty(share);
      },
    };
  }

  whenOpen(onOpen: () => void): () => void {
    // A function of its own for each call: one that waits twice is told twice.
    const tell = (): void => onOpen();
    this.#waiting.add(tell);
    if (!this.#congested) this.#tellSoon();
    return () => this.#waiting.delete(tell);
  }

  #shareOf(callerKey: string): CallerShare {
    const known = this.#shares.get(callerKey);
    if (known !== undefined) return known;
    const share: CallerShare = { callerKey, items: 0, bytes: 0 };
    this.#shares.set(callerKey, share);
    return share;
  }

  /** Nobody who holds nothing is remembered, so made-up callers cost no memory. */
  #dropIfEmpty(share: CallerShare): void {
    if (share.items === 0 && share.bytes === 0) this.#shares.delete(share.callerKey);
  }

  /** In their order, and only for as long as there is room: whoever was told may have filled it again. */
  #tellSoon(): void {
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      let told = 0;
      for (const tell of this.#waiting) {
        if (this.#congested) return;
        if (told === TOLD_AT_ONCE_MAX) return this.#tellSoon();
        told += 1;
        this.#waiting.delete(tell);
        tell();
      }
    });
  }
}
