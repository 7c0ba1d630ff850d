import { databaseProblems } from '../../../platform/database/database.problems';
import type { Clock } from '../../../shared/clock';
import { PaymentError } from '../../../shared/problem';
import { asFirstAnswered } from '../authorization';
import { authorizationProblems } from '../authorization.problems';
import { groupFailureOf } from './group-failure';
import type { GroupObserver } from './group-observer';
import type { GroupStore, StoredAnswer } from './group-store';
import { type Member, sortByScope } from './member';

/** A statement that met a lost connection or a deadlock is tried again this often. */
const RETRIES_MAX = 3;
const BACK_OFF_MS = 20;
const BACK_OFF_FACTOR = 4;
/**
 * Once a group has waited its full time for some key, its parts wait no longer than this for theirs: the companions of
 * a held key are answered in milliseconds, and whoever still meets it has waited enough.
 */
const DIVIDED_LOCK_WAIT_MS_MAX = 10;

export interface GroupRunnerOptions {
  readonly store: GroupStore;
  readonly clock: Clock;
  readonly observer: GroupObserver;
  /** The lane's execution limit: nothing is tried again that could not end within it. */
  readonly executionMsMax: number;
  /** 0 ≤ value < 1, for jitter. */
  readonly random: () => number;
}

/** One group on its way; shared by all the parts it is divided into. */
interface GroupRun {
  /** Members whose card another session has; not settled. */
  readonly cardLocked: Set<Member>;
  readonly startedAtMs: number;
  statementsLeft: number;
  longestTryMs: number;
  timedOut: boolean;
}

function unavailable(cause: unknown): PaymentError {
  return new PaymentError(
    databaseProblems.unavailable,
    'Whether the authorization took effect is not known; the same request under the same key tells.',
    { cause },
  );
}

/** Brings one group through the database and settles its members, whatever happens there. */
export class GroupRunner {
  readonly #options: GroupRunnerOptions;

  constructor(options: GroupRunnerOptions) {
    this.#options = options;
  }

  /**
   * Settles every member, save those whose card was locked, which it returns: they go into a later group.
   *
   * A group of n needs one statement, or two where keys were taken. At the worst, each of its members being faulty, it
   * needs 2n - 1 and a look-up for each; that and the retries are its budget.
   */
  async run(members: readonly Member[]): Promise<ReadonlySet<Member>> {
    const run: GroupRun = {
      cardLocked: new Set(),
      startedAtMs: Math.min(...members.map(({ enqueuedAtMs }) => enqueuedAtMs)),
      statementsLeft: 3 * members.length + 2 * RETRIES_MAX,
      longestTryMs: 0,
      timedOut: false,
    };
    try {
      this.#options.observer.onGroup?.(members.length);
      await this.#place(sortByScope(members), run, null);
    } catch (error) {
      for (const member of members) if (!run.cardLocked.has(member)) member.fail(internal(error));
    }
    return run.cardLocked;
  }

  async #place(part: readonly Member[], run: GroupRun, lockWaitMsMax: number | null): Promise<void> {
    const { store, observer } = this.#options;
    let placements;
    try {
      placements = await this.#try(run, () => store.place(part, lockWaitMsMax));
    } catch (error) {
      return this.#recover(part, run, lockWaitMsMax, error);
    }
    const keyTaken: Member[] = [];
    for (const member of part) {
      const placement = placements.get(member);
      if (placement?.kind === 'placed') {
        member.answer({ kind: 'answered', answer: placement.authorization, replayed: false });
      } else if (placement?.kind === 'card_locked') {
        run.cardLocked.add(member);
        observer.onCardLocked?.();
      } else {
        // Taken, or not answered at all; in both cases only the table knows.
        keyTaken.push(member);
      }
    }
    if (keyTaken.length > 0) await this.#lookUp(keyTaken, run);
  }

  async #lookUp(part: readonly Member[], run: GroupRun): Promise<void> {
    let stored: Map<string, StoredAnswer>;
    try {
      stored = await this.#try(run, () => this.#options.store.findStored(part));
    } catch (error) {
      const reason = this.#refusalFor(error);
      for (const member of part) member.fail(reason);
      return;
    }
    for (const member of part) {
      const found = stored.get(member.scope);
      if (found === undefined) {
        member.answer({ kind: 'in_flight' });
      } else if (!found.payloadHash.equals(member.authorization.keyed.payloadHash)) {
        member.answer({ kind: 'key_reused' });
      } else {
        // Our own row under our own key: an earlier try had committed and its answer was lost with the connection.
        const replayed = found.authorization.rowId !== member.rowId;
        member.answer({ kind: 'answered', answer: asFirstAnswered(found.authorization), replayed });
      }
    }
  }

  /** Runs one statement; again, after a pause, where only the connection or a deadlock failed it. */
  async #try<T>(run: GroupRun, statement: () => Promise<T>): Promise<T> {
    const { clock, observer, random } = this.#options;
    for (let retry = 0; ; retry += 1) {
      if (run.statementsLeft === 0) throw unavailable('The statement budget of this group is spent');
      run.statementsLeft -= 1;
      const startedAtMs = clock.now();
      try {
        return await statement();
      } catch (error) {
        const failure = groupFailureOf(error);
        observer.onFailure?.(failure, error);
        run.longestTryMs = Math.max(run.longestTryMs, clock.now() - startedAtMs);
        const backOffMs = BACK_OFF_MS * BACK_OFF_FACTOR ** retry * (0.5 + random() / 2);
        if (failure !== 'transient' || retry === RETRIES_MAX || !this.#timeFor(run, backOffMs)) throw error;
        await new Promise<void>((resolve) => clock.schedule(resolve, backOffMs));
      } finally {
        observer.onStatement?.(clock.now() - startedAtMs);
      }
    }
  }

  async #recover(part: readonly Member[], run: GroupRun, lockWaitMsMax: number | null, error: unknown): Promise<void> {
    const failure = groupFailureOf(error);
    const alone = part.length === 1;
    switch (failure) {
      case 'faulty':
        if (!alone) return this.#divide(part, run, lockWaitMsMax);
        break;
      case 'key_held':
        if (!alone) return this.#divide(part, run, DIVIDED_LOCK_WAIT_MS_MAX);
        part[0]?.answer({ kind: 'in_flight' });
        return;
      case 'statement_timeout':
        // Divided once: smaller parts may pass where the whole did not. A second time would only hold the permits.
        if (!alone && !run.timedOut && this.#timeFor(run, 0)) {
          run.timedOut = true;
          return this.#divide(part, run, lockWaitMsMax);
        }
        break;
      case 'transient':
      case 'pool_exhausted':
        break;
      default: {
        const never: never = failure;
        throw new Error(`Unknown failure ${String(never)}`);
      }
    }
    const reason = this.#refusalFor(error);
    for (const member of part) member.fail(reason);
  }

  async #divide(part: readonly Member[], run: GroupRun, lockWaitMsMax: number | null): Promise<void> {
    const middle = part.length >>> 1;
    await this.#place(part.slice(0, middle), run, lockWaitMsMax);
    await this.#place(part.slice(middle), run, lockWaitMsMax);
  }

  /** Whether another try as long as the longest one yet would end within the execution limit. */
  #timeFor(run: GroupRun, pauseMs: number): boolean {
    const { clock, executionMsMax } = this.#options;
    return clock.now() - run.startedAtMs + pauseMs + run.longestTryMs < executionMsMax;
  }

  #refusalFor(error: unknown): PaymentError {
    const failure = groupFailureOf(error);
    if (failure === 'pool_exhausted') return error as PaymentError;
    return failure === 'faulty' ? internal(error) : unavailable(error);
  }
}

function internal(cause: unknown): PaymentError {
  return new PaymentError(authorizationProblems.internal, 'The authorization could not be processed.', { cause });
}
