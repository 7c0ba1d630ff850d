import type { Clock, TimerHandle } from '../../shared/clock';

/** One connection, or one wait for it, from the moment somebody asked. */
export interface Holding {
  /** When the connection was granted; the wait before it is not its taker's fault. */
  readonly sinceMs: number;
  /** Formats the taker's stack; not called unless the connection is held too long. */
  takenBy(): string;
  reported: boolean;
}

/** Frames that are kept: enough to name the repository and what called it. */
const STACK_FRAMES = 8;

/**
 * The stack above `entry`, unformatted: walking it costs microseconds, whether for one frame or eight, and formatting it
 * several times as much, which happens for leaks only.
 */
export function captureTaker(entry: (...values: never[]) => unknown): { stack?: string } {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = STACK_FRAMES;
  const taker: { stack?: string } = {};
  Error.captureStackTrace(taker, entry);
  Error.stackTraceLimit = limit;
  return taker;
}

/** Stacks that are walked in a second; a few microseconds each. */
const STACKS_PER_SECOND_MAX = 100;
/** Statements are constants of the code; the bound is for the day on which one is not. */
const STATEMENTS_MAX = 500;

/**
 * Who runs a statement. A pool that is busy enough for the cost to matter runs few statements, each from the same lines
 * of code: beyond a hundred stacks in a second a statement's runs are taken to come from where its last one came from.
 */
export class Takers {
  readonly #clock: Clock;
  readonly #last = new Map<string, { stack?: string }>();
  #secondEndsAtMs = 0;
  #left = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(statement: string, entry: (...values: never[]) => unknown): { stack?: string } {
    const nowMs = this.#clock.now();
    if (nowMs >= this.#secondEndsAtMs) {
      this.#secondEndsAtMs = nowMs + 1_000;
      this.#left = STACKS_PER_SECOND_MAX;
    }
    const last = this.#last.get(statement);
    if (this.#left <= 0 && last !== undefined) return last;
    this.#left -= 1;
    if (this.#last.size >= STATEMENTS_MAX) this.#last.clear();
    const taker = captureTaker(entry);
    this.#last.set(statement, taker);
    return taker;
  }
}

/**
 * Notices connections that are held too long [DEC-BH-01]. One timer for the pool looks at the oldest holdings;
 * takes and returns only enter and leave a set that keeps their order.
 */
export class HeldConnections {
  readonly #holdings = new Set<Holding>();
  readonly #clock: Clock;
  readonly #heldMsMax: number;
  readonly #onHeldTooLong: (heldMs: number, takenBy: string) => void;
  #timer: TimerHandle | null = null;
  #stopped = false;

  constructor(clock: Clock, heldMsMax: number, onHeldTooLong: (heldMs: number, takenBy: string) => void) {
    this.#clock = clock;
    this.#heldMsMax = heldMsMax;
    this.#onHeldTooLong = onHeldTooLong;
  }

  get count(): number {
    return this.#holdings.size;
  }

  add(taker: { stack?: string }): Holding {
    const holding: Holding = {
      sinceMs: this.#clock.now(),
      takenBy: () => formatTaker(taker.stack ?? ''),
      reported: false,
    };
    this.#holdings.add(holding);
    if (this.#timer === null && !this.#stopped) this.#scheduleSweep(this.#heldMsMax);
    return holding;
  }

  remove(holding: Holding): void {
    this.#holdings.delete(holding);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
  }

  /** Sleeps until the oldest unreported holding may be due; without holdings there is no timer at all. */
  #scheduleSweep(delayMs: number): void {
    this.#timer = this.#clock.schedule(() => {
      this.#timer = null;
      this.#sweep();
    }, delayMs);
  }

  #sweep(): void {
    const nowMs = this.#clock.now();
    for (const holding of this.#holdings) {
      const heldMs = nowMs - holding.sinceMs;
      if (heldMs < this.#heldMsMax) {
        this.#scheduleSweep(Math.max(1, this.#heldMsMax - heldMs));
        return;
      }
      if (!holding.reported) {
        holding.reported = true;
        this.#onHeldTooLong(heldMs, holding.takenBy());
      }
    }
    if (this.#holdings.size > 0) this.#scheduleSweep(this.#heldMsMax);
  }
}

/** Drops the first line ("Error"). */
function formatTaker(stack: string): string {
  return stack
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .join('\n');
}
