/** A request under an idempotency key, as the lane's SQL sees it. */
export interface KeyedRequest {
  /** SHA-256 of caller, method, path and key, 32 bytes: within it a key is unique (contract 8). */
  readonly scopeHash: Buffer;
  /** SHA-256 of method, path and canonical body, 32 bytes: tells a repeat from another request under the same key. */
  readonly payloadHash: Buffer;
}

/** What the lane's transaction found out about a key, together with its effect. */
export type KeyedOutcome<Answer> =
  /** `replayed`: the answer was stored by an earlier request. */
  | { readonly kind: 'answered'; readonly answer: Answer; readonly replayed: boolean }
  /** The key stands for another payload. */
  | { readonly kind: 'key_reused' }
  /** Another process holds the key and has not committed. */
  | { readonly kind: 'in_flight' };
