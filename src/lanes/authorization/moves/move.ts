import type { KeyedRequest } from '../../../ingress/idempotency';
import type { Authorization } from '../authorization';

/** The moves that callers ask for; expiry is the lane's own. */
export const MOVE_KINDS = ['capture', 'reversal', 'refund'] as const;
export type MoveKind = (typeof MOVE_KINDS)[number];

/** A move that a caller asks for, under a key. */
export interface MoveRequest {
  readonly kind: MoveKind;
  readonly keyed: KeyedRequest;
  /** The subject of the token. */
  readonly caller: string;
  /** Merchants of the token's claim: an authorization of another one is not there at all (contract 8). */
  readonly merchants: readonly string[] | '*';
  /** Row id of the authorization, or of the capture for a refund. */
  readonly targetRowId: string;
  /** Null: all that is left. Only reversals leave it out. */
  readonly amountMinor: number | null;
}

/** A move as its row holds it, and the authorization as it was right after it: what the caller is answered. */
export interface MoveRecord {
  readonly kind: MoveKind;
  readonly rowId: string;
  /** The capture that a refund gives back; null for the others. */
  readonly captureRowId: string | null;
  readonly amountMinor: number;
  readonly createdAt: Date;
  readonly authorization: Authorization;
}

/** A capture as it is now. */
export interface CaptureRecord {
  readonly rowId: string;
  readonly amountMinor: number;
  readonly refundedMinor: number;
  readonly createdAt: Date;
  readonly authorization: Authorization;
}

/** What the statement made of a move. */
export type MoveOutcome =
  | { readonly kind: 'moved'; readonly record: MoveRecord }
  /** The key was taken before; what stands under it is a second statement's business. */
  | { readonly kind: 'key_taken' }
  /** Another session has the card or the authorization; nothing was tried. */
  | { readonly kind: 'locked' }
  /** No such authorization or capture, or another merchant's. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'invalid_state' }
  | { readonly kind: 'exceeds'; readonly leftMinor: number }
  | { readonly kind: 'no_settlement_account' };

/** What stands under a move's key. */
export interface StoredMove {
  readonly payloadHash: Buffer;
  readonly record: MoveRecord;
}

/** The database as moves need it. */
export interface MoveStore {
  /**
   * Makes the move in one statement, which is one transaction.
   *
   * @param waits whether it waits for a locked card or authorization, for a tenth of a second each.
   */
  move(request: MoveRequest, rowId: string, waits: boolean): Promise<MoveOutcome>;
  findStored(request: MoveRequest): Promise<StoredMove | null>;
  /** Whether another process has taken the key and not committed yet. */
  isKeyHeld(scopeHash: Buffer): Promise<boolean>;
}
