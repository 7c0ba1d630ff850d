import type { StatementRunner } from '../../../platform/database/statement';
import { byteStringAt, bytesAt, integers } from '../write/array-parameters';
import { listGenerations } from './generation.statements';
import type { KeyFilter } from './key-filter';

/**
 * Filters of about 40 million keys, so that the process stays within its 300 MB. The newest are kept; in older generations
 * every key is looked up (docs/ledger-journal.md).
 */
const FILTER_BYTES_MAX = 48 * 1024 * 1024;

/** Where keys have to be looked for beside the generation that is written to: arrays of equal length, a pair each. */
export interface Suspicions {
  readonly keys: Buffer;
  readonly generations: Buffer;
}

interface GenerationRow {
  readonly generation: number;
  readonly sealed: boolean;
}

/**
 * What this process knows of the journal's generations. It may lag behind, and exactness does not hang on it: what is
 * written names the generation that it takes for the current one, and the statement writes nothing where it is not; and a
 * sealed generation of which there is no filter here is looked into for every key.
 */
export class KnownGenerations {
  readonly #store: Pick<StatementRunner, 'query'>;
  readonly #filterBytesMax: number;
  readonly #filters = new Map<number, KeyFilter>();
  #sealed: readonly number[] = [];
  #current: number | null = null;
  #filterBytes = 0;

  constructor(store: Pick<StatementRunner, 'query'>, filterBytesMax = FILTER_BYTES_MAX) {
    this.#store = store;
    this.#filterBytesMax = filterBytesMax;
  }

  get filterBytes(): number {
    return this.#filterBytes;
  }

  /** The generation to write to, as far as is known; asks where nothing is. */
  async current(): Promise<number> {
    return this.#current ?? this.refresh();
  }

  /** @returns the current generation. */
  async refresh(): Promise<number> {
    const rows = await this.#store.query<GenerationRow>(listGenerations, []);
    const current = rows.find(({ sealed }) => !sealed);
    if (current === undefined) throw new Error('No generation of the journal is open');
    // Two answers may come in the wrong order; what is sealed stays sealed.
    if (this.#current === null || current.generation > this.#current) {
      this.#current = current.generation;
      this.#sealed = rows.filter(({ sealed }) => sealed).map(({ generation }) => generation);
    }
    return this.#current;
  }

  /** Sealed generations without a filter that there is room for, newest first: a newer one is worth more than an older. */
  withoutFilter(): readonly number[] {
    const oldest = this.#filterBytes < this.#filterBytesMax ? 0 : Math.min(...this.#filters.keys());
    return this.#sealed.filter((generation) => generation > oldest && !this.#filters.has(generation)).reverse();
  }

  /** A filter of all keys of a sealed generation. Where there is no room left, the oldest ones go. */
  adopt(generation: number, filter: KeyFilter): void {
    if (this.#filters.has(generation)) return;
    this.#filters.set(generation, filter);
    this.#filterBytes += filter.bytes.length;
    for (const oldest of [...this.#filters.keys()].sort((a, b) => a - b)) {
      if (this.#filterBytes <= this.#filterBytesMax) return;
      this.#filterBytes -= this.#filters.get(oldest)?.bytes.length ?? 0;
      this.#filters.delete(oldest);
    }
  }

  /** @param keys as they go into a statement, `count` of 32 bytes. */
  suspicionsOf(keys: Buffer, count: number): Suspicions {
    const places: number[] = [];
    const generations: number[] = [];
    for (const generation of this.#sealed) {
      const filter = this.#filters.get(generation);
      for (let index = 0; index < count; index += 1) {
        const at = byteStringAt(index);
        if (filter !== undefined && !filter.mayHold(keys, at)) continue;
        places.push(at);
        generations.push(generation);
      }
    }
    return { keys: bytesAt(keys, places), generations: integers(generations) };
  }
}
