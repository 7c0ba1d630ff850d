import type { LaneStore } from '../../../platform/database/statement';
import { amountMinorFromText } from '../../../shared/money';
import {
  authorizationOf,
  type AuthorizationRepository,
  type AuthorizationRow,
  limitLocks,
} from '../authorization.repository';
import type { CaptureRecord, MoveKind, MoveOutcome, MoveRecord, MoveRequest, MoveStore, StoredMove } from './move';
import { findCapture, findStoredMove, moveSkippingLocks, moveWaitingForLocks } from './move.statements';

/** A row of the authorization as it was after a move, and the move's own columns. */
interface MovedRow extends AuthorizationRow {
  readonly moved_minor: string;
  readonly moved_at: Date;
  readonly capture_id?: string;
}

type OutcomeRow =
  | ({ readonly outcome: 'moved' } & MovedRow)
  | { readonly outcome: 'key_taken' | 'locked' | 'invalid_state' | 'no_settlement_account' }
  | { readonly outcome: 'exceeds'; readonly left_minor: string };

interface StoredRow extends MovedRow {
  readonly payload_hash: Buffer;
  readonly move_id: string;
}

interface CaptureRow extends AuthorizationRow {
  readonly capture_id: string;
  readonly moved_minor: string;
  readonly capture_refunded_minor: string;
  readonly moved_at: Date;
}

/** Captures, reversals and refunds in `card_auth_ds`; all SQL of their making and reading. */
export class MoveRepository implements MoveStore {
  constructor(
    private readonly store: LaneStore,
    private readonly keys: Pick<AuthorizationRepository, 'tryKey'>,
    /** The longest wait for each lock of a move that waits for locks (contract 9). */
    private readonly lockWaitMsMax: number,
  ) {}

  async move(request: MoveRequest, rowId: string, waits: boolean): Promise<MoveOutcome> {
    const { kind, keyed, caller, targetRowId, amountMinor, merchants } = request;
    const values = [
      keyed.scopeHash,
      keyed.payloadHash,
      rowId,
      caller,
      targetRowId,
      amountMinor,
      merchants === '*' ? null : merchants,
    ];
    const [row] = waits
      ? await this.store.transaction(async (connection) => {
          await limitLocks(connection, this.lockWaitMsMax);
          return connection.query<OutcomeRow>(moveWaitingForLocks[kind], values);
        })
      : await this.store.query<OutcomeRow>(moveSkippingLocks[kind], values);
    if (row === undefined) return { kind: 'unknown' };
    switch (row.outcome) {
      case 'moved':
        return { kind: 'moved', record: recordOf(kind, rowId, row) };
      case 'exceeds':
        return { kind: 'exceeds', leftMinor: amountMinorFromText(row.left_minor) };
      case 'key_taken':
      case 'locked':
      case 'invalid_state':
      case 'no_settlement_account':
        return { kind: row.outcome };
      default: {
        const never: never = row;
        throw new Error(`Unknown outcome ${JSON.stringify(never)}`);
      }
    }
  }

  async findStored({ kind, keyed }: MoveRequest): Promise<StoredMove | null> {
    const [row] = await this.store.query<StoredRow>(findStoredMove[kind], [keyed.scopeHash]);
    return row === undefined ? null : { payloadHash: row.payload_hash, record: recordOf(kind, row.move_id, row) };
  }

  async isKeyHeld(scopeHash: Buffer): Promise<boolean> {
    return (await this.keys.tryKey(scopeHash)) === 'in_flight';
  }

  async findCapture(rowId: string): Promise<CaptureRecord | null> {
    const [row] = await this.store.query<CaptureRow>(findCapture, [rowId]);
    if (row === undefined) return null;
    return {
      rowId: row.capture_id,
      amountMinor: amountMinorFromText(row.moved_minor),
      refundedMinor: amountMinorFromText(row.capture_refunded_minor),
      createdAt: row.moved_at,
      authorization: authorizationOf(row),
    };
  }
}

function recordOf(kind: MoveKind, rowId: string, row: MovedRow): MoveRecord {
  return {
    kind,
    rowId,
    captureRowId: row.capture_id ?? null,
    amountMinor: amountMinorFromText(row.moved_minor),
    createdAt: row.moved_at,
    authorization: authorizationOf(row),
  };
}
