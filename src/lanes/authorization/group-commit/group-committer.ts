import { databaseProblems } from '../../../platform/database/database.problems';
import type { Clock } from '../../../shared/clock';
import { PaymentError } from '../../../shared/problem';
import { newRowId } from '../authorization-id';
import { authorizationProblems } from '../authorization.problems';
import { type CardLine, CardLines, type Turn } from './card-lines';
import type { GroupObserver } from './group-observer';
import { GroupRunner } from './group-runner';
import type { GroupStore } from './group-store';
import { type AuthorizationOutcome, type KeyedAuthorization, Member } from './member';

/** A locked card is tried again after this: often enough within its 100 ms, and a lone one does not spin. */
const CARD_LOCKED_PAUSE_MS = 5;

/** Of the execution limit: what has not begun by then is refused when its turn comes. */
const START_SHARE_MAX = 0.5;

export interface GroupCommitLimits {
  readonly groupsInFlightMax: number;
  readonly groupSizeMax: number;
  readonly executionsPerCardMax: number;
  readonly cardLockWaitMsMax: number;
}

export interface GroupCommitterOptions {
  readonly store: GroupStore;
  readonly clock: Clock;
  readonly observer?: GroupObserver;
  readonly limits: GroupCommitLimits;
  readonly executionMsMax: number;
  readonly random?: () => number;
}

function cardBusy(detail: string): PaymentError {
  return new PaymentError(authorizationProblems.cardBusy, detail);
}

/**
 * Lets executions that need the database at the same moment share one statement (contract 9). A group leaves as soon as
 * fewer than two are in flight, so groups form by load alone and an idle lane waits for nobody.
 *
 * Memory: one entry per execution, hence bounded by the lane's permits; timers: one per card that is locked elsewhere.
 */
export class GroupCommitter {
  readonly #limits: GroupCommitLimits;
  readonly #clock: Clock;
  readonly #runner: GroupRunner;
  readonly #lines: CardLines;
  readonly #byScope = new Map<string, Member>();
  readonly #startMsMax: number;
  #inFlight = 0;

  constructor({ store, clock, observer = {}, limits, executionMsMax, random = Math.random }: GroupCommitterOptions) {
    this.#limits = limits;
    this.#clock = clock;
    this.#startMsMax = executionMsMax * START_SHARE_MAX;
    this.#runner = new GroupRunner({ store, clock, observer, executionMsMax, random });
    this.#lines = new CardLines(limits.executionsPerCardMax);
  }

  /** Executions that have no answer yet. */
  get pending(): number {
    return this.#byScope.size;
  }

  get groupsInFlight(): number {
    return this.#inFlight;
  }

  /**
   * @throws PaymentError 503 `ERR_CARD_BUSY`, `ERR_DATABASE_UNAVAILABLE`, `ERR_DATABASE_POOL_EXHAUSTED`;
   *   500 `ERR_INTERNAL` where this very request cannot be processed.
   */
  authorize(authorization: KeyedAuthorization): Promise<AuthorizationOutcome> {
    const member = new Member(authorization, newRowId(), this.#clock.now(), this.#onSettled);
    const twin = this.#byScope.get(member.scope);
    if (twin !== undefined) return joinTwin(twin, authorization);
    if (!this.#lines.add(member)) {
      const detail = `The card already has ${this.#limits.executionsPerCardMax} authorizations under way here.`;
      return Promise.reject(cardBusy(detail));
    }
    this.#byScope.set(member.scope, member);
    this.#pump();
    return member.outcome;
  }

  #pump(): void {
    while (this.#inFlight < this.#limits.groupsInFlightMax && this.#lines.ready > 0) {
      const turns = this.#lines.take(this.#limits.groupSizeMax).filter((turn) => this.#isInTime(turn));
      if (turns.length === 0) continue;
      this.#inFlight += 1;
      void this.#send(turns);
    }
  }

  /**
   * Refuses a member whose turn comes so late that a statement begun now would outlast its execution by far: where the
   * database hangs, each member of a line would otherwise hang in its turn, a permit that never comes home (contract 6).
   */
  #isInTime({ line, member }: Turn): boolean {
    if (this.#clock.now() - member.enqueuedAtMs < this.#startMsMax) return true;
    line.inGroup = false;
    member.fail(new PaymentError(databaseProblems.unavailable, 'The database was not free for it in time.'));
    return false;
  }

  async #send(turns: readonly Turn[]): Promise<void> {
    const sentAtMs = this.#clock.now();
    const cardLocked = await this.#runner.run(turns.map(({ member }) => member));
    this.#inFlight -= 1;
    for (const { line, member } of turns) {
      line.inGroup = false;
      if (cardLocked.has(member)) {
        line.lockedSinceMs ??= sentAtMs;
        this.#refuseOverdue(line);
        this.#pause(line);
      } else {
        line.lockedSinceMs = null;
      }
      this.#lines.update(line);
    }
    this.#pump();
  }

  /** Before anybody learns of the answer: the next request of its key or its card must not meet a member that is over. */
  readonly #onSettled = (member: Member): void => {
    this.#byScope.delete(member.scope);
    this.#lines.remove(member);
  };

  #pause(line: CardLine): void {
    const first = line.members[0];
    if (first === undefined) return;
    line.pausing = true;
    const untilOverdueMs = this.#limits.cardLockWaitMsMax - this.#lockWaitMs(line, first);
    this.#clock.schedule(
      () => {
        line.pausing = false;
        this.#refuseOverdue(line);
        this.#lines.update(line);
        this.#pump();
      },
      Math.min(CARD_LOCKED_PAUSE_MS, untilOverdueMs),
    );
  }

  /** How long a member has waited for its card's lock: since the lock was met, or since it came itself. */
  #lockWaitMs(line: CardLine, member: Member): number {
    return this.#clock.now() - Math.max(line.lockedSinceMs ?? Infinity, member.enqueuedAtMs);
  }

  #refuseOverdue(line: CardLine): void {
    const { cardLockWaitMsMax } = this.#limits;
    for (;;) {
      const first = line.members[0];
      if (first === undefined || this.#lockWaitMs(line, first) < cardLockWaitMsMax) return;
      first.fail(cardBusy(`The card was locked elsewhere for ${cardLockWaitMsMax} ms.`));
    }
  }
}

/**
 * A second request under a key that is under way in this process. The edge joins those already; here it is a matter of
 * two members of one statement never having the same key.
 */
async function joinTwin(twin: Member, { keyed }: KeyedAuthorization): Promise<AuthorizationOutcome> {
  // What stands under the key in the end is not known yet, so another payload is told to come back.
  if (!twin.authorization.keyed.payloadHash.equals(keyed.payloadHash)) return { kind: 'in_flight' };
  const outcome = await twin.outcome;
  return outcome.kind === 'answered' ? { ...outcome, replayed: true } : outcome;
}
