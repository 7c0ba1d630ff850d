import type { Clock } from '../../../shared/clock';

/** The event loop's share of long work at a time: short beside the collections of garbage and statements between. */
const TURN_MS = 1;

/** A part of some work: goes on until `enough` says so. @returns whether the work is finished. */
export type Part = (enough: () => boolean) => boolean;

interface Job {
  readonly part: Part;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Long work of many requests on one event loop: one turn of a millisecond in each round of the loop, whoever's it
 * is, the first come first. Work that is short is done at once and never comes here.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #jobs: Job[] = [];
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the work is finished; rejects with what a part of it threw. */
  run(part: Part): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#jobs.push({ part, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#jobs.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#turn();
      this.#schedule();
    });
  }

  #turn(): void {
    const untilMs = this.#clock.now() + TURN_MS;
    const enough = (): boolean => this.#clock.now() >= untilMs;
    for (let job = this.#jobs[0]; job !== undefined && !enough(); job = this.#jobs[0]) {
      try {
        // Not finished means that the turn is over.
        if (!job.part(enough)) return;
        job.resolve();
      } catch (error) {
        job.reject(error);
      }
      this.#jobs.shift();
    }
  }
}
