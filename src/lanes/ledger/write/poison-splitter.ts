import type { Clock } from '../../../shared/clock';
import { failedWith } from '../item-failures';
import type { ItemCode } from '../ledger';
import { giveUp, type PendingRow, stillWanted } from './journal';
import type { JournalWriter } from './journal-writer';
import { codeOfPoison, type WriteFailure, writeFailureOf } from './write-failure';

/** A batch of n bad rows needs 2n - 1 statements until each stands alone; the rest is for what else may go wrong. */
const STATEMENTS_PER_ROW = 2;
const STATEMENTS_SPARE = 16;
const BACK_OFF_MS = 50;

export interface PoisonSplitterOptions {
  readonly writer: JournalWriter;
  readonly clock: Clock;
  /** 0 ≤ value < 1, for jitter. */
  readonly random: () => number;
  readonly onFailure: (failure: WriteFailure, error: unknown) => void;
  /** A row was found to be what PostgreSQL refuses. */
  readonly onPoison: (code: ItemCode, error: unknown) => void;
}

interface Split {
  readonly attempt: number;
  statementsLeft: number;
}

/**
 * Divides batches that PostgreSQL refused until the bad rows stand alone, and writes their companions. One batch at a time
 * and under no flush's permit: whoever sends poison waits here, the hot path goes on. How many may queue is bounded by the
 * room that their items still take.
 */
export class PoisonSplitter {
  readonly #options: PoisonSplitterOptions;
  #last: Promise<void> = Promise.resolve();

  constructor(options: PoisonSplitterOptions) {
    this.#options = options;
  }

  /** Takes the rows over and returns at once. */
  split(rows: readonly PendingRow[], attempt: number): void {
    const split: Split = { attempt, statementsLeft: STATEMENTS_PER_ROW * rows.length + STATEMENTS_SPARE };
    this.#last = this.#last.then(() => this.#divide(rows, split));
  }

  /** Never rejects: the next batch in line must have its turn. */
  async #divide(rows: readonly PendingRow[], split: Split): Promise<void> {
    try {
      // The whole was refused already: its halves are the first to be tried.
      await this.#halves(rows, split);
    } catch {
      // Not foreseen, and told by nobody: whoever waits must not be told that all is well.
      giveUp(rows);
    }
  }

  async #halves(rows: readonly PendingRow[], split: Split): Promise<void> {
    const middle = rows.length >>> 1;
    if (middle > 0) await this.#place(rows.slice(0, middle), split);
    await this.#place(rows.slice(middle), split);
  }

  async #place(part: readonly PendingRow[], split: Split): Promise<void> {
    const { writer, clock, random, onFailure, onPoison } = this.#options;
    for (;;) {
      const rows = stillWanted(part);
      if (rows.length === 0) return;
      if (split.statementsLeft <= 0) return giveUp(rows);
      split.statementsLeft -= 1;
      try {
        const left = await writer.write(rows, split.attempt);
        return giveUp(left);
      } catch (error) {
        const failure = writeFailureOf(error);
        onFailure(failure, error);
        if (failure === 'broken') return giveUp(rows);
        if (failure === 'faulty') {
          if (rows.length > 1) return this.#halves(rows, split);
          const code = codeOfPoison(error);
          onPoison(code, error);
          for (const row of rows) row.settle(failedWith(code));
          return;
        }
        await new Promise<void>((resolve) => clock.schedule(resolve, BACK_OFF_MS * (0.5 + random() / 2)));
      }
    }
  }
}
