/** What an entry does to the merchant's account: a SALE credits it, a REFUND debits it (contract 11). */
export type EntryType = 'SALE' | 'REFUND';

/** An item whose form is right. What is left to find out is its state: the key, the account, the currency. */
export interface LedgerItem {
  readonly merchantId: string;
  readonly externalTransactionId: string;
  readonly accountId: string;
  readonly type: EntryType;
  /** A positive safe integer. */
  readonly amountMinor: number;
  readonly currency: string;
  /**
   * The instant, in microseconds since 1970-01-01T00:00:00Z: a safe integer, and the resolution of PostgreSQL, so that
   * two spellings of one instant are equal and nothing is rounded on the way.
   */
  readonly occurredAtMicros: number;
  /** SHA-256 of `merchantId + ":" + externalTransactionId`: 64 lower-case hex digits, in the order of the bytes. */
  readonly idempotencyKey: string;
}

/** Codes of items, in order of precedence: an item with several faults is answered the first (contract 11). */
export const ITEM_CODES = [
  'ERR_MALFORMED_ITEM',
  'ERR_INVALID_TEXT',
  'ERR_INVALID_MERCHANT_ID',
  'ERR_FORBIDDEN',
  'ERR_INVALID_AMOUNT',
  'ERR_INVALID_TIMESTAMP',
  'ERR_IDEMPOTENCY_CONFLICT',
  'ERR_INVALID_ACCOUNT_ID',
  'ERR_ACCOUNT_CLOSED',
  'ERR_CURRENCY_MISMATCH',
  'ERR_STORE_UNAVAILABLE',
  'ERR_OUTCOME_UNKNOWN',
] as const;
export type ItemCode = (typeof ITEM_CODES)[number];

export interface CommittedOutcome {
  readonly status: 'COMMITTED';
  /** `ent_` and a number; of a duplicate, that of the first. */
  readonly entryId: string;
  /** The key was in the journal before, with the same payload. */
  readonly duplicate: boolean;
}

export interface FailedOutcome {
  readonly status: 'FAILED';
  readonly code: ItemCode;
  readonly detail: string;
  /** JSON Pointer into the item, where one member is at fault. */
  readonly pointer?: string;
  /** The same item may succeed later, unchanged. */
  readonly retryable: boolean;
}

export type ItemOutcome = CommittedOutcome | FailedOutcome;

/**
 * Told of each admitted item once, by its index in the admitted list, never during `admit` itself. It must not throw.
 * A callback and not a promise: a request of 5,000 items then costs one completion and not 5,000.
 */
export type OutcomeListener = (index: number, outcome: ItemOutcome) => void;

/** `no_room`: the process holds as much as it may. `callers_half`: this caller holds half of that (contract 11, bounds). */
export type AdmissionVerdict = 'admitted' | 'no_room' | 'callers_half';

/** The one buffer behind every door. */
export interface Ingest {
  /**
   * Admits all items or none, at once. An admitted item is answered whatever happens, also after its client has gone.
   *
   * @param callerKey whose half of the room they take.
   */
  admit(items: readonly LedgerItem[], callerKey: string, onOutcome: OutcomeListener): AdmissionVerdict;
}

/** Bytes of a body, reserved before it is read; to be released once, when the body is no longer held. */
export interface ByteReservation {
  release(): void;
}

/** What the doors ask before they read (contract 11, bounds). Items count from `admit` until their outcome is known. */
export interface IngestRoom {
  /** Items whose outcome is unknown. */
  readonly items: number;
  /** From 8,000 items until there are fewer than 6,000: nothing more is read. */
  readonly congested: boolean;
  /** Room for these items now, without taking it: what `admit` would answer. */
  verdict(itemCount: number, callerKey: string): AdmissionVerdict;
  /** The reservation, or why there is none. */
  reserveBytes(bytes: number, callerKey: string): ByteReservation | Exclude<AdmissionVerdict, 'admitted'>;
  /**
   * Calls `onOpen` once when the room is no longer congested; at the earliest in a later tick.
   *
   * @returns stops waiting; harmless afterwards.
   */
  whenOpen(onOpen: () => void): () => void;
}
