import { type Caller, mayActFor } from '../../ingress/caller';
import type { IdempotencyCoordinator, KeyedAnswer } from '../../ingress/idempotency.coordinator';
import type { KeyedRequest } from '../../ingress/idempotency';
import { PaymentError } from '../../shared/problem';
import { parsePublicId } from '../../shared/public-id';
import type { Authorization, AuthorizationRequest } from './authorization';
import { AUTHORIZATION_PREFIX } from './authorization-id';
import { authorizationProblems } from './authorization.problems';
import type { AuthorizationRepository } from './authorization.repository';
import type { GroupCommitter } from './group-commit/group-committer';

/** What callers of the lane can do; knows no HTTP. */
export class AuthorizationService {
  constructor(
    private readonly committer: GroupCommitter,
    private readonly repository: AuthorizationRepository,
    private readonly coordinator: IdempotencyCoordinator,
    /** Told of each hold that this process has placed, not of replays. Must neither throw nor wait. */
    private readonly onHeld: (expiresAt: Date) => void,
  ) {}

  /** Judges a request and holds its amount; a repeat under its key gets the first answer again (contract 8). */
  async authorize(
    caller: Caller,
    keyed: KeyedRequest,
    request: AuthorizationRequest,
  ): Promise<KeyedAnswer<Authorization>> {
    const answered = await this.coordinator.run(keyed, () =>
      this.committer.authorize({ keyed, caller: caller.subject, request }),
    );
    const { answer, replayed } = answered;
    if (!replayed && answer.responseCode === '00') this.onHeld(answer.expiresAt);
    return answered;
  }

  /** @throws PaymentError 404 for an id that is none, or another merchant's. */
  async read(caller: Caller, id: string): Promise<Authorization> {
    const rowId = parsePublicId(AUTHORIZATION_PREFIX, id);
    return this.visible(caller, rowId === null ? null : await this.repository.findByRowId(rowId));
  }

  /**
   * What became of a request, by the scope hash of its key: how a caller learns the outcome after a 504 or a lost
   * connection (contract 8).
   *
   * @throws PaymentError 404, or 409 while the request is under way in this process or another.
   */
  async readByKey(caller: Caller, scopeHash: Buffer): Promise<Authorization> {
    const inFlightHere = this.coordinator.isInFlight(scopeHash);
    const found = await this.repository.findByScopeHash(scopeHash).catch((error: unknown) => {
      // A request that waits for the same database has no answer there yet: that it runs is known without asking.
      throw inFlightHere ? stillRunning() : error;
    });
    if (found !== null) return this.visible(caller, found);
    if (inFlightHere || (await this.repository.tryKey(scopeHash)) === 'in_flight') throw stillRunning();
    // It may have committed between the read and the trial, which then found the key taken and free to pass.
    return this.visible(caller, await this.repository.findByScopeHash(scopeHash));
  }

  private visible(caller: Caller, authorization: Authorization | null): Authorization {
    if (authorization !== null && mayActFor(caller, authorization.merchantId)) return authorization;
    throw new PaymentError(authorizationProblems.notFound, 'There is no such authorization.');
  }
}

function stillRunning(): PaymentError {
  return new PaymentError(
    authorizationProblems.inFlight,
    'The request under this key is still running; ask again, or send it again under the same key.',
  );
}
