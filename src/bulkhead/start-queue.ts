import type { Call } from './call';

/**
 * Handed-off calls whose work is still to begin; empty except while a hand-off is under way. Work may end, and hand
 * its permit on, before its start returns: the outermost run goes through them in a loop, so that a chain of such
 * works does not grow the stack.
 */
export class StartQueue {
  readonly #calls: Call[] = [];
  readonly #start: (call: Call) => void;
  #running = false;

  /** `start` must not throw. */
  constructor(start: (call: Call) => void) {
    this.#start = start;
  }

  push(call: Call): void {
    this.#calls.push(call);
  }

  run(): void {
    if (this.#running) return;
    this.#running = true;
    for (let call = this.#calls.shift(); call !== undefined; call = this.#calls.shift()) {
      // It may have been withdrawn since it was granted.
      if (call.phase === 'granted') this.#start(call);
    }
    this.#running = false;
  }
}
