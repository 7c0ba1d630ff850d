import type { StatementRunner } from '../../../platform/database/statement';
import type { Clock } from '../../../shared/clock';
import { RegularWork } from '../regular-work';
import {
  findFilter,
  generationsWithoutSums,
  headsOfBlocks,
  keepFilter,
  keepSums,
  prepareGeneration,
  rollGeneration,
  sizeOfGeneration,
  sumsOfBlocks,
} from './generation.statements';
import { KEY_HEAD_BYTES, KeyFilter } from './key-filter';
import type { KnownGenerations } from './known-generations';

/** Some 25,000 rows, 10 ms of one core. */
const BLOCKS_AT_ONCE = 500;
/** Between two parts, so many times as long as the part took: a sealed generation is read beside flushes that have a limit. */
const PAUSE_FACTOR = 4;

export interface GenerationKeeperOptions {
  readonly store: StatementRunner;
  readonly known: KnownGenerations;
  readonly clock: Clock;
  /** The journal turns to a new generation when the table of the current one has so many bytes. */
  readonly generationBytesMax: number;
  readonly everyMs: number;
  readonly onFailed: (error: unknown) => void;
}

interface SumRow {
  readonly debit_account_no: number;
  readonly credit_account_no: number;
  readonly amount: string;
  readonly entries: number;
}

interface Sums {
  debits: bigint;
  credits: bigint;
  entries: number;
}

/**
 * Turns the journal's generations and makes what lets nobody read a sealed one again: its filter and its sums. Every process
 * runs one. Only speed hangs on it: the database lets one process turn, and what two of them make is the same.
 */
export class GenerationKeeper {
  readonly #options: GenerationKeeperOptions;
  readonly #work: RegularWork;

  constructor(options: GenerationKeeperOptions) {
    this.#options = options;
    this.#work = new RegularWork({ ...options, run: () => this.run() });
  }

  /** Loads the filters that there are; the lane is not ready before. */
  async open(): Promise<void> {
    const { known } = this.#options;
    await known.refresh();
    for (const generation of known.withoutFilter()) await this.#load(generation);
  }

  start(): void {
    this.#work.start();
  }

  /** No step begins after this; one under way is waited for. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** Everything that is due, once. */
  async run(): Promise<void> {
    const { store, known, generationBytesMax } = this.#options;
    await store.query(prepareGeneration, []);
    await store.query(rollGeneration, [generationBytesMax]);
    await known.refresh();
    await this.#keepSums();
    for (const generation of known.withoutFilter()) {
      if (this.#work.stopped) return;
      if (!(await this.#load(generation))) await this.#build(generation);
    }
  }

  async #load(generation: number): Promise<boolean> {
    const { store, known } = this.#options;
    const [found] = await store.query<{ bits: Buffer }>(findFilter, [generation]);
    if (found === undefined) return false;
    known.adopt(generation, KeyFilter.of(found.bits));
    return true;
  }

  async #build(generation: number): Promise<void> {
    const { store, known } = this.#options;
    const [size] = await store.query<{ entries: number; blocks: number }>(sizeOfGeneration, [generation]);
    if (size === undefined) return;
    const filter = KeyFilter.forKeys(size.entries);
    const done = await this.#inParts(size.blocks, async (from, to) => {
      const [row] = await store.query<{ heads: Buffer }>(headsOfBlocks, [generation, from, to, KEY_HEAD_BYTES]);
      const heads = row?.heads ?? Buffer.alloc(0);
      for (let at = 0; at < heads.length; at += KEY_HEAD_BYTES) filter.add(heads, at);
    });
    if (!done) return;
    await store.query(keepFilter, [generation, Buffer.from(filter.bytes)]);
    known.adopt(generation, filter);
  }

  async #keepSums(): Promise<void> {
    const { store } = this.#options;
    const without = await store.query<{ generation: number; blocks: number }>(generationsWithoutSums, []);
    for (const { generation, blocks } of without) {
      const sums = new Map<number, Sums>();
      const done = await this.#inParts(blocks, async (from, to) => {
        const rows = await store.query<SumRow>(sumsOfBlocks, [generation, from, to]);
        for (const { debit_account_no, credit_account_no, amount, entries } of rows) {
          add(sums, debit_account_no, { debits: BigInt(amount), credits: 0n, entries });
          add(sums, credit_account_no, { debits: 0n, credits: BigInt(amount), entries });
        }
      });
      if (!done) return;
      const all = [...sums.values()];
      await store.query(keepSums, [
        generation,
        [...sums.keys()],
        all.map(({ debits }) => String(debits)),
        all.map(({ credits }) => String(credits)),
        all.map(({ entries }) => entries),
      ]);
    }
  }

  /** @returns whether all parts were read; not where the keeper was stopped. */
  async #inParts(blocks: number, read: (from: number, to: number) => Promise<void>): Promise<boolean> {
    const { clock } = this.#options;
    for (let from = 0; from < blocks; from += BLOCKS_AT_ONCE) {
      if (this.#work.stopped) return false;
      const startedMs = clock.now();
      await read(from, from + BLOCKS_AT_ONCE);
      const pauseMs = (clock.now() - startedMs) * PAUSE_FACTOR;
      await new Promise<void>((resolve) => clock.schedule(resolve, pauseMs));
    }
    return true;
  }
}

function add(all: Map<number, Sums>, accountNo: number, more: Readonly<Sums>): void {
  const sums = all.get(accountNo);
  if (sums === undefined) {
    all.set(accountNo, { ...more });
    return;
  }
  sums.debits += more.debits;
  sums.credits += more.credits;
  sums.entries += more.entries;
}
