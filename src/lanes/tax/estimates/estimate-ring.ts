import type { ServedEstimate } from './served-estimate';

export interface EstimateRingLimits {
  readonly entriesMax: number;
  /** Lines of all entries together: an entry's memory is its lines. */
  readonly linesMax: number;
}

/**
 * Estimates that were served and are not in the database yet (contract 10). Noting one is part of a refusal, so it costs
 * a map's entry; at the bound the oldest give way, and are counted as lost. A crash loses what is in here, and no more.
 */
export class EstimateRing {
  readonly #limits: EstimateRingLimits;
  readonly #onLost: (count: number) => void;
  /** In the order in which they were served. */
  readonly #entries = new Map<string, ServedEstimate>();
  #lines = 0;

  constructor(limits: EstimateRingLimits, onLost: (count: number) => void) {
    this.#limits = limits;
    this.#onLost = onLost;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** An order that is refused again has its place already. */
  note(served: ServedEstimate): void {
    if (this.#entries.has(served.id)) return;
    this.#put(served);
    this.#makeRoom();
  }

  find(id: string): ServedEstimate | null {
    return this.#entries.get(id) ?? null;
  }

  /** The oldest ones. They stay until {@link remove}: a caller may ask for one while it is being written. */
  oldest(count: number): readonly ServedEstimate[] {
    const oldest: ServedEstimate[] = [];
    for (const served of this.#entries.values()) {
      if (oldest.length === count) break;
      oldest.push(served);
    }
    return oldest;
  }

  /** They are in the database now. */
  remove(written: readonly ServedEstimate[]): void {
    for (const { id } of written) this.#drop(id);
  }

  #put(served: ServedEstimate): void {
    this.#entries.set(served.id, served);
    this.#lines += linesOf(served);
  }

  #drop(id: string): boolean {
    const served = this.#entries.get(id);
    if (served === undefined) return false;
    this.#entries.delete(id);
    this.#lines -= linesOf(served);
    return true;
  }

  #makeRoom(): void {
    let lost = 0;
    for (const id of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.entriesMax && this.#lines <= this.#limits.linesMax) break;
      this.#drop(id);
      lost += 1;
    }
    if (lost > 0) this.#onLost(lost);
  }
}

function linesOf({ request }: ServedEstimate): number {
  return request.lines.length;
}
