import type { KeyedOutcome, KeyedRequest } from '../../../ingress/idempotency';
import type { Authorization, AuthorizationRequest } from '../authorization';

/** One request on its way through the group commit. */
export interface KeyedAuthorization {
  readonly keyed: KeyedRequest;
  /** The subject of the token. */
  readonly caller: string;
  readonly request: AuthorizationRequest;
}

export type AuthorizationOutcome = KeyedOutcome<Authorization>;

/** A request waiting for its answer; settled exactly once. */
export class Member {
  /** The row it becomes, chosen before it is first tried: after a lost connection it tells our own row from another's. */
  readonly rowId: string;
  /** The scope hash as a string, one character a byte: order and equality are those of the bytes. */
  readonly scope: string;
  readonly enqueuedAtMs: number;
  readonly outcome: Promise<AuthorizationOutcome>;
  #resolve!: (outcome: AuthorizationOutcome) => void;
  #reject!: (error: Error) => void;
  readonly #onSettled: (member: Member) => void;
  #settled = false;

  /** @param onSettled called once, before whoever waits for the outcome goes on. */
  constructor(
    readonly authorization: KeyedAuthorization,
    rowId: string,
    enqueuedAtMs: number,
    onSettled: (member: Member) => void,
  ) {
    this.rowId = rowId;
    this.scope = authorization.keyed.scopeHash.toString('latin1');
    this.enqueuedAtMs = enqueuedAtMs;
    this.#onSettled = onSettled;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get cardToken(): string {
    return this.authorization.request.cardToken;
  }

  answer(outcome: AuthorizationOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#onSettled(this);
    this.#resolve(outcome);
  }

  fail(error: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#onSettled(this);
    this.#reject(error);
  }
}

/** In the order of their scope hashes: two processes then take common keys in the same order and never deadlock. */
export function sortByScope(members: readonly Member[]): Member[] {
  return [...members].sort((a, b) => (a.scope < b.scope ? -1 : a.scope > b.scope ? 1 : 0));
}
