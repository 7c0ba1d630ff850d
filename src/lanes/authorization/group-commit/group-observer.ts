import type { GroupFailure } from './group-store';

/** What the group commit tells as it happens; each call is one event, made on the hot path. */
export interface GroupObserver {
  /** A group of so many members has left. */
  onGroup?(size: number): void;
  /** A statement of a group has ended, whatever its result. */
  onStatement?(elapsedMs: number): void;
  /** A card was found locked by another session. */
  onCardLocked?(): void;
  /** A statement failed; the group is tried again, divided, or refused. */
  onFailure?(failure: GroupFailure, error: unknown): void;
}
