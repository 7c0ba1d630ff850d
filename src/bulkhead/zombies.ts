import type { Call } from './call';
import { DeadlineList } from './deadline-list';
import { IntrusiveList } from './intrusive-list';
import type { GuardedObserver } from './observer';

/** From this age on a zombie is an alert (contract 6). */
export const ZOMBIE_ALERT_MS = 30_000;

/** Executions past their limit whose work has not ended. They keep their permits; here they are watched for age. */
export class Zombies {
  readonly #young = new DeadlineList<Call>(ZOMBIE_ALERT_MS);
  readonly #old = new IntrusiveList<Call>();
  readonly #permits: number;
  readonly #observer: GuardedObserver;
  #stuck = false;

  constructor(permits: number, observer: GuardedObserver) {
    this.#permits = permits;
    this.#observer = observer;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Half of the permits or more are held by zombies older than 30 s: waiting for them is no longer reasonable. */
  get stuck(): boolean {
    return this.#stuck;
  }

  /** When the next one reaches the age of an alert; `Infinity` for never. */
  get dueMs(): number {
    return this.#young.earliestMs;
  }

  /** Its age counts from here. */
  add(call: Call, nowMs: number): void {
    this.#young.append(call, nowMs);
  }

  /** To be told after a call has left the list it was in. */
  noteLeft(): void {
    this.#stuck &&= this.#isHalf();
  }

  raiseAlerts(nowMs: number): void {
    for (let call = this.#young.shiftDue(nowMs); call !== null; call = this.#young.shiftDue(nowMs)) {
      this.#old.push(call);
      const becameStuck = !this.#stuck && this.#isHalf();
      this.#stuck ||= becameStuck;
      this.#observer.tell('onZombieAlert', this.#old.size);
      if (becameStuck) this.#observer.tell('onZombiesHalf', this.#old.size);
    }
  }

  #isHalf(): boolean {
    return this.#old.size * 2 >= this.#permits;
  }
}
