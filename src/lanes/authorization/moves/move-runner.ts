import type { KeyedOutcome } from '../../../ingress/idempotency';
import { databaseProblems } from '../../../platform/database/database.problems';
import type { Clock } from '../../../shared/clock';
import { PaymentError } from '../../../shared/problem';
import { newRowId } from '../authorization-id';
import { authorizationProblems } from '../authorization.problems';
import { groupFailureOf } from '../group-commit/group-failure';
import type { MoveOutcome, MoveRecord, MoveRequest, MoveStore, StoredMove } from './move';

/** A statement that met a lost connection or a deadlock is tried again this often. */
const RETRIES_MAX = 3;
const BACK_OFF_MS = 20;
const BACK_OFF_FACTOR = 4;

export interface MoveRunnerOptions {
  readonly store: MoveStore;
  readonly clock: Clock;
  /**
   * Moves of this process that wait for a locked card or authorization at once. Each holds a connection for as long as
   * it waits (100 ms for a lock), and a hot card must not hold the lane (contract 9).
   */
  readonly lockWaitersMax: number;
  /** The lane's execution limit: nothing is tried again that could not end within it. */
  readonly executionMsMax: number;
  readonly random?: () => number;
}

/**
 * Brings one move through the database. One statement as a rule; where the card or the authorization is locked a look-up
 * and a second one, where it is refused a look-up. Each of these at most four times, if connections are lost.
 */
export class MoveRunner {
  readonly #options: Required<MoveRunnerOptions>;
  #lockWaiters = 0;

  constructor(options: MoveRunnerOptions) {
    this.#options = { random: Math.random, ...options };
  }

  get lockWaiters(): number {
    return this.#lockWaiters;
  }

  /**
   * @throws PaymentError 404 `ERR_NOT_FOUND`; 409 `ERR_INVALID_STATE`, `ERR_AMOUNT_EXCEEDS_REMAINING`,
   *   `ERR_NO_SETTLEMENT_ACCOUNT`; 503 `ERR_CARD_BUSY`, `ERR_DATABASE_UNAVAILABLE`, `ERR_DATABASE_POOL_EXHAUSTED`.
   */
  async run(request: MoveRequest): Promise<KeyedOutcome<MoveRecord>> {
    const { store, clock } = this.#options;
    const startedAtMs = clock.now();
    const rowId = newRowId();
    let outcome: MoveOutcome | 'in_flight' = await this.#try(startedAtMs, () => store.move(request, rowId, false));
    if (outcome.kind === 'locked') {
      const stored = await this.#try(startedAtMs, () => store.findStored(request));
      if (stored !== null) return storedOutcome(request, rowId, stored);
      outcome = await this.#waitForLock(request, rowId, startedAtMs);
      if (outcome === 'in_flight') return { kind: 'in_flight' };
    }
    if (outcome.kind === 'moved') return { kind: 'answered', answer: outcome.record, replayed: false };
    // A twin may have done just this, which is why it cannot be done any more: the key comes before the verdict.
    const stored = outcome.kind === 'unknown' ? null : await this.#try(startedAtMs, () => store.findStored(request));
    if (stored !== null) return storedOutcome(request, rowId, stored);
    if (outcome.kind === 'key_taken') return { kind: 'in_flight' };
    throw refusalOf(request, outcome);
  }

  async #waitForLock(request: MoveRequest, rowId: string, startedAtMs: number): Promise<MoveOutcome | 'in_flight'> {
    const { store, lockWaitersMax } = this.#options;
    if (this.#lockWaiters >= lockWaitersMax) {
      throw cardBusy(`${lockWaitersMax} requests wait for locked cards here already.`);
    }
    this.#lockWaiters += 1;
    try {
      return await this.#try(startedAtMs, () => store.move(request, rowId, true));
    } catch (error) {
      if (groupFailureOf(errorBehind(error)) !== 'key_held') throw error;
    } finally {
      this.#lockWaiters -= 1;
    }
    // The lock's owner may be a twin in another process: then the key is what the caller should be told of.
    const held = await this.#try(startedAtMs, () => store.isKeyHeld(request.keyed.scopeHash));
    if (held) return 'in_flight';
    throw cardBusy('The card or the authorization was locked elsewhere for too long.');
  }

  /** Runs one statement; again, after a pause, where only the connection or a deadlock failed it. */
  async #try<T>(startedAtMs: number, statement: () => Promise<T>): Promise<T> {
    const { clock, executionMsMax, random } = this.#options;
    for (let retry = 0; ; retry += 1) {
      const triedAtMs = clock.now();
      try {
        return await statement();
      } catch (error) {
        const nowMs = clock.now();
        const backOffMs = BACK_OFF_MS * BACK_OFF_FACTOR ** retry * (0.5 + random() / 2);
        const inTime = nowMs - startedAtMs + backOffMs + (nowMs - triedAtMs) < executionMsMax;
        if (groupFailureOf(error) !== 'transient' || retry === RETRIES_MAX || !inTime) throw failureOf(error);
        await new Promise<void>((resolve) => clock.schedule(resolve, backOffMs));
      }
    }
  }
}

function storedOutcome(request: MoveRequest, rowId: string, stored: StoredMove): KeyedOutcome<MoveRecord> {
  if (!stored.payloadHash.equals(request.keyed.payloadHash)) return { kind: 'key_reused' };
  // Our own row under our own key: an earlier try had committed and its answer was lost with the connection.
  return { kind: 'answered', answer: stored.record, replayed: stored.record.rowId !== rowId };
}

function cardBusy(detail: string): PaymentError {
  return new PaymentError(authorizationProblems.cardBusy, detail);
}

/** A lock that was not had in time passes as it is, since only the caller of the statement knows what it means. */
function failureOf(error: unknown): unknown {
  const failure = groupFailureOf(error);
  switch (failure) {
    case 'pool_exhausted':
    case 'key_held':
      return error;
    case 'transient':
    case 'statement_timeout':
      return new PaymentError(
        databaseProblems.unavailable,
        'Whether this took effect is not known; the same request under the same key tells.',
        { cause: error },
      );
    case 'faulty':
      return new PaymentError(authorizationProblems.internal, 'This could not be processed.', { cause: error });
    default: {
      const never: never = failure;
      throw new Error(`Unknown failure ${String(never)}`);
    }
  }
}

function errorBehind(error: unknown): unknown {
  return error instanceof PaymentError && error.cause !== undefined ? error.cause : error;
}

const TARGETS = { capture: 'authorization', reversal: 'authorization', refund: 'capture' } as const;

type Refusal = Exclude<MoveOutcome, { kind: 'moved' | 'key_taken' }>;

function refusalOf({ kind }: MoveRequest, outcome: Refusal): PaymentError {
  const target = TARGETS[kind];
  switch (outcome.kind) {
    case 'unknown':
      return new PaymentError(authorizationProblems.notFound, `There is no such ${target}.`);
    case 'locked':
      return cardBusy('The card or the authorization is locked elsewhere.');
    case 'invalid_state':
      return new PaymentError(
        authorizationProblems.invalidState,
        kind === 'refund' ? 'Nothing of this capture is left to refund.' : 'Nothing of this authorization remains.',
      );
    case 'exceeds':
      return new PaymentError(
        authorizationProblems.exceedsRemaining,
        `The amount is more than is left of this ${target}.`,
        { members: { remaining_minor: outcome.leftMinor } },
      );
    case 'no_settlement_account':
      return new PaymentError(
        authorizationProblems.noSettlementAccount,
        'Nothing was done: once the merchant has an account in this currency, the same request can be sent again.',
      );
    default: {
      const never: never = outcome;
      throw new Error(`Unknown refusal ${JSON.stringify(never)}`);
    }
  }
}
