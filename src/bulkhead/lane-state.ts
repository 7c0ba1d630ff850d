import type { Clock } from '../shared/clock';

export type LaneState = 'NORMAL' | 'SATURATED' | 'RECOVERING';

/** Occupancies, in whatever the lane counts: permits, or buffered items. */
export interface LaneStateThresholds {
  /** From here a lane is SATURATED, unless the observer says what full means. */
  full: number;
  /** Strictly below this a SATURATED lane begins to recover. */
  recoveryBelow: number;
  /** From here a NORMAL lane reports pressure. */
  pressureFrom: number;
}

/** How long a lane stays below `recoveryBelow`, without a break, before it is NORMAL again (contract 5). */
export const RECOVERY_MS = 10_000;

/** 60 % and 80 % of what the lane holds at most (contract 5). Multiplied first: whole figures stay exact. */
export function laneStateThresholds(full: number): LaneStateThresholds {
  return { full, recoveryBelow: (full * 6) / 10, pressureFrom: (full * 8) / 10 };
}

/**
 * The state of a lane [MC-ST-01, contract 5]: a signal for operators, never a reason to refuse. To be told of every
 * change of the occupancy, and once more at {@link dueMs}, when time alone makes the lane NORMAL.
 */
export class LaneStateMachine {
  readonly #thresholds: LaneStateThresholds;
  readonly #clock: Clock;
  readonly #onChanged: (from: LaneState, to: LaneState) => void;
  #state: LaneState = 'NORMAL';
  #occupancy = 0;
  /** When the lane is NORMAL again if it stays below the line; `Infinity` while it is not recovering below it. */
  #normalAtMs = Infinity;

  /** `onChanged` must not throw; it may call `observe` again. */
  constructor(
    thresholds: LaneStateThresholds,
    clock: Clock,
    onChanged: (from: LaneState, to: LaneState) => void = () => {},
  ) {
    this.#thresholds = thresholds;
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  get state(): LaneState {
    return this.#state;
  }

  get pressure(): boolean {
    return this.#state === 'NORMAL' && this.#occupancy >= this.#thresholds.pressureFrom;
  }

  /** The next moment, on the clock, at which `observe` is due although nothing has changed; `Infinity` for never. */
  get dueMs(): number {
    return this.#normalAtMs;
  }

  /**
   * The occupancy now. `full` where it is not the occupancy alone that says so: a full queue behind the permits, a
   * request refused for lack of room. Reads the clock only in a lane that is not NORMAL.
   */
  observe(occupancy: number, full = occupancy >= this.#thresholds.full): void {
    this.#occupancy = occupancy;
    if (this.#state === 'NORMAL' && !full) return;
    const before = this.#state;
    // The occupancy before this one has held until now: where the timer is late, ten seconds that are over count
    // before the rise that ends them.
    const recovered = this.#normalAtMs !== Infinity && this.#clock.now() >= this.#normalAtMs;
    const between = recovered ? 'NORMAL' : before;
    const after = this.#next(between, full);
    this.#state = after;
    if (after !== 'RECOVERING' || occupancy >= this.#thresholds.recoveryBelow) this.#normalAtMs = Infinity;
    else if (this.#normalAtMs === Infinity) this.#normalAtMs = this.#clock.now() + RECOVERY_MS;
    // Told last: whoever hears it may observe again, and must find a machine that has finished.
    if (between !== before) this.#onChanged(before, between);
    if (after !== between) this.#onChanged(between, after);
  }

  #next(state: LaneState, full: boolean): LaneState {
    if (full) return 'SATURATED';
    return state === 'SATURATED' && this.#occupancy < this.#thresholds.recoveryBelow ? 'RECOVERING' : state;
  }
}
