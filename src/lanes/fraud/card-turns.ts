import type { Clock, TimerHandle } from '../../shared/clock';
import { PaymentError } from '../../shared/problem';
import { fraudProblems } from './fraud.problems';

interface Waiter {
  readonly begin: () => void;
}

/**
 * One evaluation of a card at a time in this process: side by side all but one of them would find their facts out of
 * date when they come to store their result. Each that waits holds a permit, so the lane bounds their number; and the
 * wait is bounded, so that a database that hangs does not make a line of zombies of one card's payments.
 */
export class CardTurns {
  readonly #clock: Clock;
  readonly #waitMsMax: number;
  /** Who waits, by card; a card without a line is free. */
  readonly #lines = new Map<string, Waiter[]>();

  constructor(clock: Clock, waitMsMax: number) {
    this.#clock = clock;
    this.#waitMsMax = waitMsMax;
  }

  /** Cards that are being evaluated. */
  get size(): number {
    return this.#lines.size;
  }

  /** @throws PaymentError 503 `ERR_CARD_BUSY` where the turn does not come in time; `work` has not begun then. */
  async take<Result>(cardFingerprint: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(cardFingerprint);
    if (line === undefined) this.#lines.set(cardFingerprint, []);
    else await this.#wait(line);
    try {
      return await work();
    } finally {
      this.#next(cardFingerprint);
    }
  }

  #wait(line: Waiter[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer: TimerHandle = this.#clock.schedule(() => {
        line.splice(line.indexOf(waiter), 1);
        reject(new PaymentError(fraudProblems.cardBusy, 'Other payments with this card took too long; not evaluated.'));
      }, this.#waitMsMax);
      const waiter: Waiter = {
        begin: () => {
          this.#clock.cancel(timer);
          resolve();
        },
      };
      line.push(waiter);
    });
  }

  #next(cardFingerprint: string): void {
    const waiter = this.#lines.get(cardFingerprint)?.shift();
    if (waiter === undefined) this.#lines.delete(cardFingerprint);
    else waiter.begin();
  }
}
