import { type Caller, mayActFor } from '../../../ingress/caller';
import type { KeyedRequest } from '../../../ingress/idempotency';
import type { IdempotencyCoordinator, KeyedAnswer } from '../../../ingress/idempotency.coordinator';
import { PaymentError } from '../../../shared/problem';
import { parsePublicId } from '../../../shared/public-id';
import { AUTHORIZATION_PREFIX, CAPTURE_PREFIX } from '../authorization-id';
import { authorizationProblems } from '../authorization.problems';
import type { CaptureRecord, MoveKind, MoveRecord } from './move';
import type { MoveRepository } from './move.repository';
import type { MoveRunner } from './move-runner';

/** A move as a caller asks for it. */
export interface AskedMove {
  readonly kind: MoveKind;
  /** As the caller wrote it: of an authorization, for a refund of a capture. */
  readonly targetId: string;
  /** Null: all that remains. */
  readonly amountMinor: number | null;
}

/** What callers can do with an authorization after it was decided; knows no HTTP. */
export class MoveService {
  constructor(
    private readonly runner: MoveRunner,
    private readonly repository: MoveRepository,
    private readonly coordinator: IdempotencyCoordinator,
    /** Told after each move that this process has made, not of replays. Must not throw. */
    private readonly onMoved: (kind: MoveKind) => void,
  ) {}

  /**
   * Makes a move; a repeat under its key gets the first answer again (contract 8).
   *
   * @throws PaymentError 404 for an id that is none or another merchant's, and what the runner throws.
   */
  async move(caller: Caller, keyed: KeyedRequest, asked: AskedMove): Promise<KeyedAnswer<MoveRecord>> {
    const { kind, targetId, amountMinor } = asked;
    const targetRowId = parsePublicId(kind === 'refund' ? CAPTURE_PREFIX : AUTHORIZATION_PREFIX, targetId);
    if (targetRowId === null) throw unknown(kind === 'refund' ? 'capture' : 'authorization');
    const { subject, merchants } = caller;
    const answered = await this.coordinator.run(keyed, () =>
      this.runner.run({
        kind,
        keyed,
        caller: subject,
        merchants: merchants === '*' ? '*' : [...merchants],
        targetRowId,
        amountMinor,
      }),
    );
    if (!answered.replayed) this.onMoved(kind);
    return answered;
  }

  /** @throws PaymentError 404 for an id that is none, or another merchant's. */
  async readCapture(caller: Caller, id: string): Promise<CaptureRecord> {
    const rowId = parsePublicId(CAPTURE_PREFIX, id);
    const capture = rowId === null ? null : await this.repository.findCapture(rowId);
    if (capture !== null && mayActFor(caller, capture.authorization.merchantId)) return capture;
    throw unknown('capture');
  }
}

function unknown(what: string): PaymentError {
  return new PaymentError(authorizationProblems.notFound, `There is no such ${what}.`);
}
