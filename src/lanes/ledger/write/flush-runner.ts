import type { Clock } from '../../../shared/clock';
import { ATTEMPTS, giveUp, type PendingRow, stillWanted } from './journal';
import type { JournalWriter } from './journal-writer';
import type { PoisonSplitter } from './poison-splitter';
import { type WriteFailure, writeFailureOf } from './write-failure';

const BACK_OFF_MS_MIN = 20;
const BACK_OFF_MS_MAX = 1_000;
/** Rows whose account is opened or whose key is given back between two statements, again and again. */
const RACES_MAX = 3;
/** Beyond what back-off allows within an item's time; a bound on the loop, whatever the clock does. */
const TRIES_MAX = 1_000;

export interface FlushRunnerOptions {
  readonly writer: JournalWriter;
  readonly splitter: Pick<PoisonSplitter, 'split'>;
  readonly clock: Clock;
  /** 0 ≤ value < 1: jitter, and the attempt's number. */
  readonly random: () => number;
  /** A try has failed; the flush is tried again, divided, or given up. */
  readonly onFailure: (failure: WriteFailure, error: unknown) => void;
}

/**
 * Brings one flush to its end, whatever happens to the database meanwhile. It tries again, after a pause, for as long as
 * somebody waits for one of its rows: that is bounded by the time an item has for its outcome (contract 11), and while
 * it lasts the flush keeps its permit, so that a database that is away fills the buffer and not itself.
 */
export class FlushRunner {
  readonly #options: FlushRunnerOptions;

  constructor(options: FlushRunnerOptions) {
    this.#options = options;
  }

  /** Settles the rows, or hands them to the splitter, which does. Rows nobody waits for any more are let go. Never rejects. */
  async run(rows: readonly PendingRow[]): Promise<void> {
    const { writer, splitter, random, onFailure } = this.#options;
    const attempt = Math.floor(random() * ATTEMPTS);
    let left = rows;
    let races = 0;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      left = stillWanted(left);
      if (left.length === 0) return;
      try {
        left = await writer.write(left, attempt);
        races += 1;
        if (left.length === 0 || races === RACES_MAX) break;
      } catch (error) {
        const failure = writeFailureOf(error);
        onFailure(failure, error);
        // What was written before the failure is settled, and no longer of this flush.
        left = stillWanted(left);
        if (failure === 'faulty') return splitter.split(left, attempt);
        if (failure === 'broken') break;
        await this.#pause(tries);
      }
    }
    giveUp(left);
  }

  #pause(tries: number): Promise<void> {
    const { clock, random } = this.#options;
    const backOffMs = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(tries, 10)) * (0.5 + random() / 2);
    return new Promise((resolve) => clock.schedule(resolve, backOffMs));
  }
}
