import type { Authorization } from '../authorization';
import type { Member } from './member';

/** What the statement made of one member. */
export type Placement =
  | { readonly kind: 'placed'; readonly authorization: Authorization }
  /** Another session has the card; nothing was tried. */
  | { readonly kind: 'card_locked' }
  /** The key was taken before; what stands under it is a second statement's business. */
  | { readonly kind: 'key_taken' };

/** What stands under a key. */
export interface StoredAnswer {
  readonly payloadHash: Buffer;
  readonly authorization: Authorization;
}

/** The database as the group commit needs it. */
export interface GroupStore {
  /**
   * Places a group in one statement, which is one transaction. `members` are sorted by scope; no two share a card or
   * a scope.
   *
   * @param lockWaitMsMax the longest wait for a key that another process has not committed; null: the connection's own.
   * @returns by member. Whoever is missing was not answered, and nothing may be assumed of it.
   */
  place(members: readonly Member[], lockWaitMsMax: number | null): Promise<Map<Member, Placement>>;

  /** What stands under the members' keys, by scope; a key nobody committed is missing. */
  findStored(members: readonly Member[]): Promise<Map<string, StoredAnswer>>;
}

/** Why a group's statement failed, and so what is done about it. */
export type GroupFailure =
  /** The connection went, or the server broke a deadlock: the same again, the keys make it harmless. */
  | 'transient'
  /** Another process holds a key of the group. */
  | 'key_held'
  | 'statement_timeout'
  | 'pool_exhausted'
  /** Anything else is the fault of some member, and dividing the group finds it. */
  | 'faulty';
